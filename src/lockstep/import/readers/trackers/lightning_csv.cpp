#include "lockstep/import/readers/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "lockstep/import/model/epoch_means.h"
#include "lockstep/import/model/log_reader.h"
#include "lockstep/import/readers/trackers/row_settings.h"
#include "lockstep/import/scan/csv_rows.h"
#include "lockstep/import/scan/rank_prefix.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr std::size_t kHeaderSample = 64 * 1024;
constexpr std::size_t kMostRuns = 10'000;

std::size_t column(const std::vector<std::string>& header, Metric metric) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (metric_of(header[i]).metric == metric) return i;
  }
  return kNone;
}

/// "time" of a table with epochs counts from the start in some tools and per epoch in others: the
/// values themselves show which. 2 for "train_time", the better one of two, 0 for other names.
int clock_rank(std::string_view name) {
  const std::string plain = lower(trim(name));
  if (plain == "train_time" || plain == "training_time" || plain == "train time" ||
      plain == "training time" || plain == "train_time_s" || plain == "train_time_sec" ||
      plain == "train_seconds" || plain == "train_duration")
    return 2;
  return plain == "time" || plain == "elapsed" || plain == "elapsed_time" ||
                 plain == "time_elapsed" || plain == "wall_time" || plain == "walltime" ||
                 plain == "time_s" || plain == "time_sec" || plain == "time(s)" ||
                 plain == "time (s)" || plain == "seconds" || plain == "duration" ||
                 plain == "duration_s"
             ? 1
             : 0;
}

std::size_t clock_column(const std::vector<std::string>& header) {
  std::size_t best = kNone;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const int rank = clock_rank(header[i]);
    if (rank > 0 && (best == kNone || rank > clock_rank(header[best]))) best = i;
  }
  return best;
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
    for (const std::string& name : header_) {
      columns_.push_back(EpochMeans::column(name));
      validation_.push_back(EpochMeans::column("val_" + name));
      test_.push_back(EpochMeans::column("test_" + name));
    }
  }

  /// The columns of the settings are no figures.
  void leave_out(std::size_t column) { left_out_.insert(column); }

  /// Whether `values` begin another run: its first epoch again, after later ones. A test at the end
  /// may number its only row from the beginning.
  bool restarts(const std::vector<double>& values) const {
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

  /// `values` are NaN where a field is empty.
  void row(const std::vector<double>& values, RowSplit split = RowSplit::kUnknown) {
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
    if (epoch && pending_rate_.first != kNone) {
      means_.add(columns_[pending_rate_.first], pending_rate_.second, epoch, step_, run_);
      pending_rate_.first = kNone;
    }
  }

  std::int64_t rows() const { return rows_; }

  ImportedRun finish() {
    means_.finish(run_);
    leave_out_mixed();
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
  static constexpr double kLongestEpoch = 1e8;  ///< larger numbers are times since 1970
  static constexpr int kTestColumn = 4;         ///< MetricName::rank of figures of a test

  /// Epochs that come back after later ones are of one run that was continued, or of several that
  /// wrote into one table: which row counts is unknown. Of mixed rows none is certain.
  void leave_out_mixed() {
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
        fmt::format("{} epochs come back after later ones, so their figures are left out: the run "
                    "was continued from an earlier epoch, or another one wrote into the table",
                    mixed_.size()));
  }

  /// A clock that runs through rises by about its first value per epoch; its differences are the
  /// times of the epochs and its last value is the whole run. One that falls counts per epoch.
  void read_clock() {
    if (clock_.size() < 2 || clock_.size() != run_.epochs.size()) return;
    bool rises = true;
    for (std::size_t i = 0; i < clock_.size(); ++i) {
      const auto& [epoch, seconds] = clock_[i];
      if (!(seconds > 0) || seconds > kLongestEpoch) return;
      if (i > 0 && epoch != clock_[i - 1].first + 1) return;
      rises = rises && (i == 0 || seconds > clock_[i - 1].second);
    }
    if (!rises) {
      for (std::size_t i = 0; i < clock_.size(); ++i) {
        if (run_.epochs[i].train_s == 0) run_.epochs[i].train_s = clock_[i].second;
      }
      return;
    }
    if (clock_.size() < 3) return;
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
  std::vector<EpochMeans::Column> validation_;  ///< of rows that state their split
  std::vector<EpochMeans::Column> test_;
  std::set<std::size_t> left_out_;
  std::size_t epoch_column_;
  std::size_t step_column_;
  std::size_t clock_column_;
  std::vector<std::pair<double, double>> clock_;  ///< epoch and what the clock showed
  EpochMeans means_;
  ImportedRun run_;
  std::optional<double> epoch_;
  std::optional<double> first_epoch_;
  std::int64_t falls_ = 0;  ///< rows whose epoch is before that of the row above
  std::set<double> seen_;
  std::set<double> mixed_;
  bool zero_based_ = false;
  std::int64_t step_ = 0;
  std::int64_t rows_ = 0;
  std::pair<std::size_t, double> pending_rate_{kNone, 0};
};

/// The runs of one table: rows of other settings are of another run, and so are epochs that begin
/// again.
class RunsOfTable {
 public:
  RunsOfTable(std::vector<std::string> header, RowSettings settings)
      : header_(std::move(header)), settings_(std::move(settings)) {}

  void row(const std::vector<double>& values) { add(part(""), values, RowSplit::kUnknown); }

  void row(const std::vector<std::string_view>& fields, const std::vector<double>& values) {
    if (settings_.rank < values.size()) {
      const double rank = values[settings_.rank];
      if (rank >= 0 && rank < kMostRuns) ranks_.insert(static_cast<int>(rank));
      if (ranks_.empty() || rank != *ranks_.begin()) return;  // the first is shown
    }
    Part& of_row = part(settings_.key(fields));
    if (of_row.fields.empty()) of_row.fields.assign(fields.begin(), fields.end());
    const bool stated = settings_.split < fields.size();
    add(of_row, values, stated ? split_of_row(fields[settings_.split]) : RowSplit::kUnknown);
  }

  std::vector<ImportedRun> finish() {
    for (Part& each : parts_) close(each);
    const int ranks = count_of_ranks(ranks_);
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (ranks > 1 && !runs_[i].workers) runs_[i].workers.offer(ranks);
      if (i > 0) runs_[i].label = "#" + std::to_string(i + 1);
    }
    return std::move(runs_);
  }

 private:
  struct Part {
    std::string key;
    std::vector<std::string> fields;  ///< of its first row
    MetricsTable table;
  };

  MetricsTable empty_table() const {
    MetricsTable table(header_);
    for (const std::size_t i : settings_.keys) table.leave_out(i);
    table.leave_out(settings_.rank);
    return table;
  }

  Part& part(const std::string& key) {
    for (Part& known : parts_) {
      if (known.key == key) return known;
    }
    if (parts_.size() >= kMostParts) return parts_.back();
    return parts_.emplace_back(Part{key, {}, empty_table()});
  }

  void add(Part& of_row, const std::vector<double>& values, RowSplit split) {
    if (runs_.size() < kMostRuns && of_row.table.restarts(values)) {
      close(of_row);
      of_row.table = empty_table();
    }
    of_row.table.row(values, split);
  }

  void close(Part& of_row) {
    if (of_row.table.rows() == 0) return;
    ImportedRun run = of_row.table.finish();
    settings_.offer(header_, of_row.fields, run);
    if (parts_.size() == 1) run.notes.erase("setting");
    runs_.push_back(std::move(run));
  }

  static constexpr std::size_t kMostParts = 1'000;

  std::vector<std::string> header_;
  RowSettings settings_;
  std::vector<Part> parts_;
  std::vector<ImportedRun> runs_;
  std::set<int> ranks_;
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
    const std::string_view sample = input.peek(kHeaderSample);
    const char delimiter = csv_delimiter(sample);
    const std::vector<std::string> header = csv_header(sample, delimiter);
    const RowSettings settings = find_row_settings(sample, delimiter, header);
    CsvRows rows(input, delimiter);
    std::vector<std::string_view> fields;
    if (!rows.next(fields)) return;
    RunsOfTable runs({fields.begin(), fields.end()}, settings);
    const std::size_t columns = fields.size();
    std::uint64_t short_line = 0;
    std::vector<double> values;
    while (settings.any() ? rows.next(fields, values) : rows.next_numbers(values)) {
      if (values.size() != columns && short_line == 0) short_line = rows.line();
      if (settings.any()) {
        runs.row(fields, values);
      } else {
        runs.row(values);
      }
    }
    if (short_line != 0) {
      sink.warn(input.name() + " line " + std::to_string(short_line) + " does not have the " +
                std::to_string(columns) + " fields of its header");
    }
    warn_of_damage(rows.lines(), input, sink);
    for (ImportedRun& run : runs.finish()) sink.add(std::move(run));
  }
};

}  // namespace

std::unique_ptr<Reader> make_lightning_csv_reader() {
  return std::make_unique<LightningReader>();
}

}  // namespace lockstep::import
