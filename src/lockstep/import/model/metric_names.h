#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "lockstep/record/event.h"

namespace lockstep::import {

/// The figures of a run that Lockstep has a word for.
enum class Metric {
  kOther,
  kTrainLoss,
  kTrainAccuracy,
  kValLoss,
  kValAccuracy,
  kLearningRate,
  kEpoch,
  kStep,
  kEpochTime,            ///< seconds
  kStepTime,             ///< seconds
  kThroughput,           ///< examples per second, all workers
  kThroughputPerWorker,  ///< examples per second, one worker
};

/// What a name in someone's log means, and how sure: of a "val_", an "eval_" and a "test_" figure
/// of the same epoch the first is kept.
struct MetricName {
  Metric metric = Metric::kOther;
  int rank = 0;      ///< 0 = the name is exact, higher = second choice
  double scale = 1;  ///< to seconds, for times
};

/// Reads names such as "val_acc", "valid/accuracy", "eval_loss", "train loss", "Acc@1", "top1",
/// "lr-AdamW", "epoch_time_ms", "samples_per_second", "img/s". Upper and lower case are the same.
MetricName metric_of(std::string_view name);

/// Whether a name is of an end or the width of many values: "max step time", "throughput_std".
bool names_extreme(std::string_view name);

/// Stores a loss or an accuracy. False for other figures.
bool set_quality(Metric metric, double value, record::EpochResult& result);

/// metric_of() for names that come again and again.
class MetricCache {
 public:
  MetricName of(std::string_view name);

 private:
  struct Recent {
    std::string name;
    MetricName metric;
  };
  std::map<std::string, MetricName, std::less<>> known_;
  std::array<Recent, 64> recent_;  ///< by size and letters: lines repeat the same few names
};

}  // namespace lockstep::import
