#include "lockstep/import/epoch_means.h"

#include <cmath>
#include <string>

#include "lockstep/import/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kMostMetrics = 256;
/// MetricName::rank from which a figure is a final test.
constexpr int kTestRank = 4;

}  // namespace

void EpochMeans::close_epoch() {
  if (epoch_ >= 0) {
    if (!loss_.empty()) table_.set(epoch_, MetricName{Metric::kTrainLoss, 3}, loss_.mean());
    if (!accuracy_.empty())
      table_.set(epoch_, MetricName{Metric::kTrainAccuracy, 3}, accuracy_.mean());
  }
  loss_ = Series();
  accuracy_ = Series();
}

void EpochMeans::add(std::string_view name, double value, std::optional<double> epoch,
                     std::int64_t step, ImportedRun& run) {
  const MetricName metric = metric_of(name);
  const bool validation =
      metric.metric == Metric::kValLoss || metric.metric == Metric::kValAccuracy;
  const bool test = validation && metric.rank >= kTestRank;
  if (metric.metric == Metric::kStepTime) {
    run.step_time.add(step, value * metric.scale);
    return;
  }
  if (metric.metric == Metric::kThroughput) {
    run.throughput.add(step, value);
  } else if (metric.metric == Metric::kThroughputPerWorker) {
    run.throughput_per_worker.add(step, value);
    return;
  }
  if (metric.metric == Metric::kOther || test || !epoch || *epoch < 0 || *epoch > 1e6) {
    if (metric.metric == Metric::kTrainLoss) {
      run.train_loss.add(step, value);
    } else if (metric.metric != Metric::kThroughput && run.other.size() < kMostMetrics) {
      run.other[printable(name, 80)].add(step, value);
    }
    return;
  }
  const double counted = fractions_ ? std::max(1.0, std::ceil(*epoch)) : std::floor(*epoch);
  const auto at = static_cast<std::int64_t>(counted);
  if (at != epoch_) {
    close_epoch();
    epoch_ = at;
  }
  if (metric.metric == Metric::kTrainLoss && !contains(name, "epoch")) {
    loss_.add(step, value);
    run.train_loss.add(step, value);
  } else if (metric.metric == Metric::kTrainAccuracy && !contains(name, "epoch")) {
    accuracy_.add(step, value);
  } else {
    table_.set(at, metric, value);
  }
}

void EpochMeans::finish(ImportedRun& run) {
  close_epoch();
  run.epochs = table_.results();
  if (run.epochs.size() < 2) return;
  const record::EpochResult& last = run.epochs.back();
  const record::EpochResult& before = run.epochs[run.epochs.size() - 2];
  if (std::isfinite(before.train_loss) && !std::isfinite(last.train_loss) &&
      !std::isfinite(last.train_accuracy)) {
    run.at_end = last;
    run.at_end->epoch = 0;
    run.epochs.pop_back();
  }
}

}  // namespace lockstep::import
