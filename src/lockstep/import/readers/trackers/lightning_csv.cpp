#include "lockstep/import/readers/readers.h"

#include <algorithm>
#include <set>

#include "lockstep/import/model/log_reader.h"
#include "lockstep/import/readers/trackers/metrics_table.h"
#include "lockstep/import/scan/csv_rows.h"
#include "lockstep/import/scan/rank_prefix.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kHeaderSample = 64 * 1024;
constexpr std::size_t kMostRuns = 10'000;

/// TensorBoard's download of one curve: "Wall time,Step,Value" in "run-NAME-tag-Loss_train.csv".
/// The value is what the name of the file tells, the time is that of the clock on the wall.
void name_curve(const std::string& file, std::vector<std::string>& header) {
  if (header != std::vector<std::string>{"Wall time", "Step", "Value"}) return;
  header[0].clear();
  const std::size_t tag = file.rfind("tag-");
  if (tag == std::string::npos) return;
  const std::string name = file.substr(tag + 4, file.rfind(".csv") - tag - 4);
  if (!name.empty()) header[2] = printable(name, 60);
}

/// A frame that pandas wrote has its index in a column without a name: 0, 1, 2, ... of a table that
/// has times of epochs are the epochs.
void name_index(std::string_view sample, char delimiter, std::vector<std::string>& header) {
  if (header.size() < 2 || !header[0].empty()) return;
  if (column_of(header, Metric::kEpochTime) == RowSettings::kNoColumn) return;
  std::int64_t next = -1;
  for_each_line(sample, [&](std::string_view line) {
    if (next >= 0 && next < 3 && !line.starts_with(std::to_string(next) + delimiter)) next = 4;
    if (next < 3) ++next;
  });
  if (next >= 2 && next <= 3) header[0] = "epoch";
}

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
    SteadySettings steady;
  };

  MetricsTable empty_table() const {
    MetricsTable table(header_);
    for (const std::size_t i : settings_.keys) table.leave_out(i);
    for (std::size_t i = 0; i < header_.size(); ++i) {
      if (header_[i].empty()) table.leave_out(i);
    }
    table.leave_out(settings_.rank);
    return table;
  }

  Part& part(const std::string& key) {
    for (Part& known : parts_) {
      if (known.key == key) return known;
    }
    if (parts_.size() >= kMostParts) return parts_.back();
    return parts_.emplace_back(Part{key, {}, empty_table(), SteadySettings(header_)});
  }

  void add(Part& of_row, const std::vector<double>& values, RowSplit split) {
    if (runs_.size() < kMostRuns && of_row.table.restarts(values)) {
      close(of_row);
      of_row.table = empty_table();
      of_row.steady = SteadySettings(header_);
    }
    of_row.table.row(values, split);
    of_row.steady.row(values);
  }

  void close(Part& of_row) {
    if (of_row.table.rows() == 0) return;
    ImportedRun run = of_row.table.finish();
    settings_.offer(header_, of_row.fields, run);
    if (parts_.size() == 1) run.notes.erase("setting");
    of_row.steady.offer(header_, run);
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
    const char delimiter = csv_delimiter(sample.text);
    std::vector<std::string> header = csv_header(sample.text, delimiter);
    if (header.size() < 2) return Match::kNo;
    name_index(sample.text, delimiter, header);
    for (const std::string& name : header) {
      if (name.size() > 128 || contains(name, " - ") || name.empty() || parse_number(name))
        return Match::kNo;
    }
    const bool epoch = column_of(header, Metric::kEpoch) != RowSettings::kNoColumn;
    const bool step = column_of(header, Metric::kStep) != RowSettings::kNoColumn;
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
    std::vector<std::string> header = csv_header(sample, delimiter);
    name_index(sample, delimiter, header);
    const RowSettings settings = find_row_settings(sample, delimiter, header);
    CsvRows rows(input, delimiter);
    std::vector<std::string_view> fields;
    if (!rows.next(fields)) return;
    const std::size_t columns = fields.size();
    std::vector<std::string> names(fields.begin(), fields.end());
    if (names.size() == header.size()) names[0] = header[0];
    name_curve(input.name(), names);
    RunsOfTable runs(std::move(names), settings);
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
