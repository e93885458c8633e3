#include "lockstep/import/model/epoch_means.h"

#include <cmath>
#include <string>

#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kMostMetrics = 256;
/// MetricName::rank from which a figure is a final test.
constexpr int kTestRank = 4;
constexpr const char* kLoggedMean = "mean of what was logged in the epoch";

}  // namespace

void EpochMeans::close_epoch() {
  if (epoch_ >= 0) {
    closed_ = true;
    settle_first(epoch_);
    loss_is_mean_ = loss_is_mean_ || loss_.count() > 1;
    accuracy_is_mean_ = accuracy_is_mean_ || accuracy_.count() > 1;
    if (!loss_.empty()) table_.set(epoch_, MetricName{Metric::kTrainLoss, 3}, loss_.mean());
    if (!accuracy_.empty())
      table_.set(epoch_, MetricName{Metric::kTrainAccuracy, 3}, accuracy_.mean());
  }
  loss_ = Series();
  accuracy_ = Series();
}

EpochMeans::Column EpochMeans::column(std::string_view name) {
  return {std::string(name), metric_of(name), contains(name, "epoch"), nullptr};
}

void EpochMeans::add(std::string_view name, double value, std::optional<double> epoch,
                     std::int64_t step, ImportedRun& run) {
  auto found = columns_.find(name);
  if (found == columns_.end()) {
    if (columns_.size() >= 4 * kMostMetrics) columns_.clear();
    found = columns_.emplace(name, column(name)).first;
  }
  add(found->second, value, epoch, step, run);
}

void EpochMeans::add(Column& column, double value, std::optional<double> epoch, std::int64_t step,
                     ImportedRun& run) {
  const MetricName& metric = column.metric;
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
  if (metric.metric == Metric::kOther || test || !epoch || !(*epoch >= 0 && *epoch <= 1e6)) {
    if (test && epoch && *epoch >= 0 && *epoch <= 1e6) test_figure(metric, value, *epoch);
    if (validation && !test) without_epochs_.set(1, metric, value);
    if (metric.metric == Metric::kTrainLoss) {
      run.train_loss.add(step, value);
    } else if (metric.metric != Metric::kThroughput) {
      if (column.other == nullptr && run.other.size() < kMostMetrics)
        column.other = &run.other[printable(column.name, 80)];
      if (column.other != nullptr) column.other->add(step, value);
    }
    return;
  }
  if (!fractions_ && *epoch != std::floor(*epoch) && epoch_ <= 0 && !closed_) {
    // Such tools print the fraction that is done: 3.0 at the end of the third epoch.
    fractions_ = true;
    if (epoch_ == 0) epoch_ = 1;
    settle_first(1);
  }
  const double counted = fractions_ ? std::max(1.0, std::ceil(*epoch)) : std::floor(*epoch);
  const auto at = static_cast<std::int64_t>(counted);
  if (at != epoch_) {
    close_epoch();
    epoch_ = at;
  }
  if (metric.metric == Metric::kTrainLoss && !column.of_epoch) {
    loss_.add(step, value);
    run.train_loss.add(step, value);
  } else if (metric.metric == Metric::kTrainAccuracy && !column.of_epoch) {
    accuracy_.add(step, value);
  } else if (at == 0 && !closed_ && first_.size() < kMostMetrics) {
    first_.emplace_back(metric, value);  // 0 may be the first epoch, or 0.0 the begin of epoch 1
  } else {
    table_.set(at, metric, value);
  }
}

void EpochMeans::settle_first(std::int64_t epoch) {
  for (const auto& [metric, value] : first_) table_.set(epoch, metric, value);
  first_.clear();
}

void EpochMeans::test_figure(const MetricName& metric, double value, double epoch) {
  const auto at = static_cast<std::int64_t>(std::floor(epoch));
  if (!tests_validate_ && (first_test_.empty() || at == first_test_epoch_)) {
    first_test_epoch_ = at;
    if (first_test_.size() < kMostMetrics) first_test_.emplace_back(metric, value);
    return;
  }
  if (!tests_validate_) {
    for (const auto& [name, figure] : first_test_) table_.set(first_test_epoch_, name, figure);
    tests_validate_ = true;
  }
  table_.set(at, metric, value);
}

void EpochMeans::finish(ImportedRun& run) {
  close_epoch();
  run.epochs = table_.results();
  if (loss_is_mean_) run.notes["train_loss"] = kLoggedMean;
  if (accuracy_is_mean_) run.notes["train_accuracy"] = kLoggedMean;
  if (run.epochs.empty() && !without_epochs_.empty()) {
    run.at_end = without_epochs_.results().front();
    run.at_end->epoch = 0;
  }
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
