#include "lockstep/import/readers/trackers/metrics_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kMostClockRows = 200'000;
constexpr double kLongestEpoch = 1e8;  ///< larger numbers are times since 1970
constexpr int kTestColumn = 4;         ///< MetricName::rank of figures of a test

/// "time" of a table with epochs counts from the start in some tools and per epoch in others: the
/// values themselves show which.
constexpr std::array<std::string_view, 16> kClocks{
    "time",       "elapsed",  "elapsed_time", "time_elapsed", "wall_time", "walltime",
    "time_s",     "time_sec", "time(s)",      "time (s)",     "seconds",   "duration",
    "duration_s", "wall_sec", "wall_seconds", "wall_s"};
constexpr std::array<std::string_view, 8> kTrainClocks{
    "train_time",   "training_time",  "train time",    "training time",
    "train_time_s", "train_time_sec", "train_seconds", "train_duration"};

/// 2 for the time of training, the better one of two; 0 for other names.
int clock_rank(std::string_view name) {
  const std::string plain = lower(trim(name));
  if (std::ranges::find(kTrainClocks, plain) != kTrainClocks.end()) return 2;
  return std::ranges::find(kClocks, plain) != kClocks.end() ? 1 : 0;
}

std::size_t clock_column(const std::vector<std::string>& header) {
  std::size_t best = RowSettings::kNoColumn;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const int rank = clock_rank(header[i]);
    if (rank > 0 && (best == RowSettings::kNoColumn || rank > clock_rank(header[best]))) best = i;
  }
  return best;
}

}  // namespace

std::size_t column_of(const std::vector<std::string>& header, Metric metric) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (metric_of(header[i]).metric == metric) return i;
  }
  return RowSettings::kNoColumn;
}

MetricsTable::MetricsTable(std::vector<std::string> header)
    : header_(std::move(header)),
      epoch_column_(column_of(header_, Metric::kEpoch)),
      step_column_(column_of(header_, Metric::kStep)),
      clock_column_(clock_column(header_)) {
  for (const std::string& name : header_) {
    columns_.push_back(EpochMeans::column(name));
    validation_.push_back(EpochMeans::column("val_" + name));
    test_.push_back(EpochMeans::column("test_" + name));
  }
}
bool MetricsTable::restarts(const std::vector<double>& values) const {
  if (!first_epoch_ || falls_ > 0 || epoch_column_ >= values.size()) return false;
  if (values[epoch_column_] != *first_epoch_ || !(values[epoch_column_] < *epoch_)) return false;
  for (std::size_t i = 0; i < std::min(columns_.size(), values.size()); ++i) {
    const Metric metric = columns_[i].metric.metric;
    if (std::isnan(values[i]) || metric == Metric::kEpoch || metric == Metric::kStep) continue;
    const bool test = (metric == Metric::kValLoss || metric == Metric::kValAccuracy) &&
                      columns_[i].metric.rank >= kTestColumn;
    if (!test && metric != Metric::kOther) return true;
  }
  return false;
}

void MetricsTable::row(const std::vector<double>& values, RowSplit split) {
  std::vector<EpochMeans::Column>& columns = split == RowSplit::kValidation ? validation_
                                             : split == RowSplit::kTest     ? test_
                                                                            : columns_;
  const bool training = split == RowSplit::kUnknown || split == RowSplit::kTrain;
  ++rows_;
  const auto cell = [&](std::size_t i) -> std::optional<double> {
    if (i >= values.size() || std::isnan(values[i])) return std::nullopt;
    return values[i];
  };
  const auto epoch = cell(epoch_column_);
  if (epoch) {
    if (!first_epoch_) first_epoch_ = epoch;
    if (epoch_ && *epoch < *epoch_) ++falls_;
    const double whole = std::floor(*epoch);
    if (seen_.size() < kMostClockRows && !seen_.insert(whole).second &&
        (!epoch_ || std::floor(*epoch_) != whole))
      mixed_.insert(whole);
    epoch_ = epoch;
    if (*epoch == 0) zero_based_ = true;
  }
  const auto step = cell(step_column_);
  if (step && std::abs(*step) < 9e15) step_ = static_cast<std::int64_t>(*step);
  if (const auto clock = cell(clock_column_);
      clock && epoch && training && clock_.size() < kMostClockRows)
    clock_.emplace_back(*epoch, *clock);
  const std::size_t width = std::min(columns.size(), values.size());
  for (std::size_t i = 0; i < width; ++i) {
    if (std::isnan(values[i]) || i == epoch_column_ || i == step_column_ || left_out_.contains(i))
      continue;
    const bool rate = columns[i].metric.metric == Metric::kLearningRate;
    if (rate && !epoch) {
      pending_rate_ = {i, values[i]};
      continue;
    }
    means_.add(columns[i], values[i], epoch ? epoch : epoch_, step_, run_);
  }
  if (epoch && pending_rate_.first != RowSettings::kNoColumn) {
    means_.add(columns_[pending_rate_.first], pending_rate_.second, epoch, step_, run_);
    pending_rate_.first = RowSettings::kNoColumn;
  }
}

ImportedRun MetricsTable::finish() {
  means_.finish(run_);
  leave_out_mixed();
  read_clock();
  const auto epochs = static_cast<double>(run_.epochs.size());
  if (step_column_ != RowSettings::kNoColumn && epoch_column_ != RowSettings::kNoColumn &&
      zero_based_ && epochs > 0 && step_ > 0) {
    const double last = run_.at_end ? static_cast<double>(step_) : static_cast<double>(step_ + 1);
    const auto steps = static_cast<std::int64_t>(std::llround(last / epochs));
    if (steps > 1) run_.steps_per_epoch.offer(steps, Provenance::kDerived);
  }
  return std::move(run_);
}

void MetricsTable::leave_out_mixed() {
  if (mixed_.empty()) return;
  if (falls_ * 4 > rows_) {
    run_.epochs.clear();
    run_.at_end.reset();
    run_.train_loss = Series();
    run_.warnings.emplace_back(
        "rows of several runs are mixed in the table, so no epoch is read: give each run a table "
        "of its own");
    return;
  }
  const double shift = zero_based_ ? 1 : 0;
  std::erase_if(run_.epochs, [&](const record::EpochResult& result) {
    return mixed_.contains(static_cast<double>(result.epoch) - shift);
  });
  run_.warnings.push_back(
      fmt::format("{} epochs appear again after later ones, so their figures are left out: the run "
                  "was continued from an earlier epoch, or another run wrote into the table",
                  mixed_.size()));
}

void MetricsTable::read_clock() {
  const bool only_times = run_.epochs.empty() && mixed_.empty();
  if (clock_.size() < 2 || (clock_.size() != run_.epochs.size() && !only_times)) return;
  bool rises = true;
  for (std::size_t i = 0; i < clock_.size(); ++i) {
    const auto& [epoch, seconds] = clock_[i];
    if (!(seconds > 0) || seconds > kLongestEpoch) return;
    if (!(epoch >= 0) || epoch > kMostClockRows) return;
    if (i > 0 && epoch != clock_[i - 1].first + 1) return;
    rises = rises && (i == 0 || seconds > clock_[i - 1].second);
  }
  const auto begin_epochs = [&] {
    for (std::size_t i = 0; only_times && i < clock_.size(); ++i)
      run_.epochs.emplace_back().epoch =
          static_cast<int>(std::floor(clock_[i].first)) + (zero_based_ ? 1 : 0);
  };
  if (!rises) {
    begin_epochs();
    for (std::size_t i = 0; i < clock_.size(); ++i) {
      if (run_.epochs[i].train_s == 0) run_.epochs[i].train_s = clock_[i].second;
    }
    return;
  }
  if (clock_.size() < 3) return;
  const auto rows = static_cast<double>(clock_.size());
  if (clock_.back().second < 0.5 * rows * clock_.front().second) return;
  begin_epochs();
  // A table that was continued begins with a later epoch: its first row is then not one epoch.
  const bool from_start = clock_.front().first <= 1;
  for (std::size_t i = from_start ? 0 : 1; i < clock_.size(); ++i) {
    if (run_.epochs[i].train_s > 0) return;
    run_.epochs[i].train_s = clock_[i].second - (i == 0 ? 0 : clock_[i - 1].second);
  }
  run_.notes["epoch_time"] = "difference of two values of a running clock";
  if (from_start && !run_.total_s) run_.total_s = clock_.back().second;
}

}  // namespace lockstep::import
