#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/import/model/imported_run.h"

namespace lockstep::import {

/// "BenchmarkMetric: {'num_batches':100, 'time_taken': 48.7,'images_per_second': 2103.9}" lines,
/// and the summary with 'time_per_epoch'. A terminal that wrapped or cut them is undone. A summary
/// whose global batch differs from the one the lines before it imply begins a run of its own.
class KerasBenchmark {
 public:
  /// Whether the line belongs to one.
  bool line(std::string_view text);
  void finish(std::vector<ImportedRun>& runs);

 private:
  void flush();
  void interval(double seconds, double rate, std::int64_t batches);
  void summary();
  void end_run();

  std::string pending_;
  ImportedRun run_;
  std::vector<ImportedRun> runs_;
  std::int64_t batches_ = 0;
  double implied_batch_ = 0;
};

}  // namespace lockstep::import
