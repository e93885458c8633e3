#pragma once

#include <cstdint>
#include <ostream>
#include <set>
#include <string_view>

#include "lockstep/record/event.h"

namespace lockstep::import {

/// Writes a Chrome trace (chrome://tracing, Perfetto) of a run: a row a rank with its steps, their
/// phases laid out below them, and a row for the epochs.
class TraceFileWriter {
 public:
  /// `out` must outlive the writer.
  explicit TraceFileWriter(std::ostream& out);
  /// Closes the trace.
  ~TraceFileWriter();
  TraceFileWriter(const TraceFileWriter&) = delete;
  TraceFileWriter& operator=(const TraceFileWriter&) = delete;

  /// Steps without a start time (imported ones) are laid out one after the other.
  void step(const record::StepTimes& step);
  /// Epochs are laid out one after the other from `start_us` on; gives where the next begins.
  double epoch(const record::EpochResult& epoch, double start_us);

 private:
  void span(std::string_view name, std::string_view category, int thread, double start_us,
            double duration_us);

  std::ostream& out_;
  bool first_ = true;
  std::set<int> named_;  ///< rows that have their name
  std::int64_t origin_ns_ = 0;
  double laid_out_us_ = 0;
};

}  // namespace lockstep::import
