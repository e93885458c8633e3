#pragma once

#include <cstdint>
#include <fstream>
#include <span>
#include <string>

#include "lockstep/record/step_times.h"

namespace lockstep::measure {

/// When one rank handed over one gradient bucket; on the clock of StepTimes::start_ns.
struct BucketMark {
  std::int32_t rank = 0;
  std::int32_t bucket = 0;
  std::int64_t step = 0;
  std::int64_t handed_over_ns = 0;
};

/// Writes a trace in the Chrome format, which Perfetto and chrome://tracing open: one process per
/// rank, its phases on one track, the hand-over of its gradient buckets as instants. The file is
/// complete after finish(), and readable by Perfetto even if that never came. Stops taking steps at
/// `size_limit` bytes and records that in the trace.
class TraceWriter {
 public:
  static constexpr std::uint64_t kMostBytes = 64'000'000;

  /// Throws kData when the file cannot be written.
  /// `queued`: marks are when the host queued a bucket for a device, which gets to it later; they
  /// are labelled so.
  TraceWriter(const std::string& path, int ranks, std::uint64_t size_limit = kMostBytes,
              bool queued = false);

  /// Steps of any ranks, wait and transfer already split.
  void write(std::span<const record::StepTimes> steps, std::span<const BucketMark> marks);
  void finish();

 private:
  void event(const std::string& json);
  bool full();

  std::string path_;
  std::ofstream out_;
  std::uint64_t size_limit_;
  std::int64_t origin_ns_ = 0;
  bool queued_;
  bool said_full_ = false;
};

}  // namespace lockstep::measure
