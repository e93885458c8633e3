#include "lockstep/import/readers/readers.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lockstep/import/model/epoch_means.h"
#include "lockstep/import/model/log_reader.h"
#include "lockstep/import/scan/csv_rows.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr std::size_t kHeaderSample = 64 * 1024;

std::size_t column(const std::vector<std::string>& header, Metric metric) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (metric_of(header[i]).metric == metric) return i;
  }
  return kNone;
}

/// "time" of a table with epochs counts from the start in some tools and per epoch in others: the
/// values themselves show which.
bool is_clock_name(std::string_view name) {
  const std::string plain = lower(trim(name));
  return plain == "time" || plain == "elapsed" || plain == "elapsed_time" ||
         plain == "time_elapsed" || plain == "wall_time" || plain == "walltime";
}

std::size_t clock_column(const std::vector<std::string>& header) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (is_clock_name(header[i])) return i;
  }
  return kNone;
}

/// Rows come by step: the figures of a step are spread over several rows, and the row with the
/// learning rate comes before the one with the epoch's number.
class MetricsTable {
 public:
  explicit MetricsTable(std::vector<std::string> header)
      : header_(std::move(header)),
        epoch_column_(column(header_, Metric::kEpoch)),
        step_column_(column(header_, Metric::kStep)),
        clock_column_(clock_column(header_)) {
    for (const std::string& name : header_) columns_.push_back(EpochMeans::column(name));
  }

  /// `values` are NaN where a field is empty.
  void row(const std::vector<double>& values) {
    ++rows_;
    const auto cell = [&](std::size_t i) -> std::optional<double> {
      if (i >= values.size() || std::isnan(values[i])) return std::nullopt;
      return values[i];
    };
    const auto epoch = cell(epoch_column_);
    if (epoch) {
      epoch_ = epoch;
      if (*epoch == 0) zero_based_ = true;
    }
    const auto step = cell(step_column_);
    if (step && std::abs(*step) < 9e15) step_ = static_cast<std::int64_t>(*step);
    if (const auto clock = cell(clock_column_); clock && epoch && clock_.size() < kMostClockRows)
      clock_.emplace_back(*epoch, *clock);
    const std::size_t width = std::min(columns_.size(), values.size());
    for (std::size_t i = 0; i < width; ++i) {
      if (std::isnan(values[i]) || i == epoch_column_ || i == step_column_) continue;
      const bool rate = columns_[i].metric.metric == Metric::kLearningRate;
      if (rate && !epoch) {
        pending_rate_ = {i, values[i]};
        continue;
      }
      means_.add(columns_[i], values[i], epoch ? epoch : epoch_, step_, run_);
    }
    if (epoch && pending_rate_.first != kNone) {
      means_.add(columns_[pending_rate_.first], pending_rate_.second, epoch, step_, run_);
      pending_rate_.first = kNone;
    }
  }

  std::int64_t rows() const { return rows_; }

  ImportedRun finish() {
    means_.finish(run_);
    read_clock();
    const auto epochs = static_cast<double>(run_.epochs.size());
    if (step_column_ != kNone && epoch_column_ != kNone && zero_based_ && epochs > 0 && step_ > 0) {
      const double last = run_.at_end ? static_cast<double>(step_) : static_cast<double>(step_ + 1);
      const auto steps = static_cast<std::int64_t>(std::llround(last / epochs));
      if (steps > 1) run_.steps_per_epoch.offer(steps, Provenance::kDerived);
    }
    return std::move(run_);
  }

 private:
  static constexpr std::size_t kMostClockRows = 200'000;

  /// A clock that runs through rises by about its first value per epoch; its differences are the
  /// times of the epochs and its last value is the whole run.
  void read_clock() {
    if (clock_.size() < 3 || clock_.size() != run_.epochs.size()) return;
    for (std::size_t i = 0; i < clock_.size(); ++i) {
      const auto& [epoch, seconds] = clock_[i];
      const bool rises = i == 0 ? seconds > 0 : seconds > clock_[i - 1].second;
      const bool next = i == 0 || epoch == clock_[i - 1].first + 1;
      if (!rises || !next) return;
    }
    const auto rows = static_cast<double>(clock_.size());
    if (clock_.back().second < 0.5 * rows * clock_.front().second) return;
    // A table that was continued begins with a later epoch: its first row is then not one epoch.
    const bool from_start = clock_.front().first <= 1;
    for (std::size_t i = from_start ? 0 : 1; i < clock_.size(); ++i) {
      if (run_.epochs[i].train_s > 0) return;
      run_.epochs[i].train_s = clock_[i].second - (i == 0 ? 0 : clock_[i - 1].second);
    }
    run_.notes["epoch_time"] = "difference of two values of a running clock";
    if (from_start && !run_.total_s) run_.total_s = clock_.back().second;
  }

  std::vector<std::string> header_;
  std::vector<EpochMeans::Column> columns_;
  std::size_t epoch_column_;
  std::size_t step_column_;
  std::size_t clock_column_;
  std::vector<std::pair<double, double>> clock_;  ///< epoch and what the clock showed
  EpochMeans means_;
  ImportedRun run_;
  std::optional<double> epoch_;
  bool zero_based_ = false;
  std::int64_t step_ = 0;
  std::int64_t rows_ = 0;
  std::pair<std::size_t, double> pending_rate_{kNone, 0};
};

class LightningReader final : public Reader {
 public:
  std::string_view name() const override { return "lightning-csv"; }
  std::string_view description() const override {
    return "PyTorch Lightning metrics.csv, Keras CSVLogger: columns epoch, step and one per metric";
  }

  Match recognise(const Sample& sample) const override {
    const std::vector<std::string> header = csv_header(sample.text, csv_delimiter(sample.text));
    if (header.size() < 2) return Match::kNo;
    for (const std::string& name : header) {
      if (name.size() > 128 || contains(name, " - ") || name.empty() || parse_number(name))
        return Match::kNo;
    }
    const bool epoch = column(header, Metric::kEpoch) != kNone;
    const bool step = column(header, Metric::kStep) != kNone;
    const bool known = std::any_of(header.begin(), header.end(), [](const std::string& name) {
      const Metric metric = metric_of(name).metric;
      return metric != Metric::kOther && metric != Metric::kEpoch && metric != Metric::kStep;
    });
    if (epoch && (step || known)) return Match::kLikely;
    return step && known ? Match::kLikely : epoch || step ? Match::kPossible : Match::kNo;
  }

  void read(Input& input, ImportSink& sink) const override {
    CsvRows rows(input, csv_delimiter(input.peek(kHeaderSample)));
    std::vector<std::string_view> fields;
    if (!rows.next(fields)) return;
    const std::size_t columns = fields.size();
    MetricsTable table({fields.begin(), fields.end()});
    std::uint64_t short_line = 0;
    std::vector<double> values;
    while (rows.next_numbers(values)) {
      if (values.size() != columns && short_line == 0) short_line = rows.line();
      table.row(values);
    }
    if (short_line != 0) {
      sink.warn(input.name() + " line " + std::to_string(short_line) + " does not have the " +
                std::to_string(columns) + " fields of its header");
    }
    warn_of_damage(rows.lines(), input, sink);
    if (table.rows() > 0) sink.add(table.finish());
  }
};

}  // namespace

std::unique_ptr<Reader> make_lightning_csv_reader() {
  return std::make_unique<LightningReader>();
}

}  // namespace lockstep::import
