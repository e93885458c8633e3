#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "lockstep/import/model/config_facts.h"
#include "lockstep/import/model/epoch_table.h"
#include "lockstep/import/model/measurement_units.h"
#include "lockstep/import/model/stated_facts.h"
#include "lockstep/import/readers/frame_runs.h"
#include "lockstep/import/readers/readers.h"
#include "lockstep/import/readers/table_columns.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/figure_scan.h"
#include "lockstep/import/scan/line_source.h"
#include "lockstep/import/scan/text_scan.h"
#include "lockstep/import/scan/text_table.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kMostTableText = 16 * 1024 * 1024;
constexpr std::size_t kMostTableFigures = 64;

using Columns = std::vector<TableColumn>;

bool has_column(const Columns& columns, std::initializer_list<TableRole> any) {
  return std::any_of(columns.begin(), columns.end(), [&](const TableColumn& column) {
    return std::find(any.begin(), any.end(), column.role) != any.end();
  });
}

/// "4", "4 GPUs": how many there are, or nothing.
std::optional<std::int64_t> count_in_cell(std::string_view cell) {
  const auto number = cell_number(cell);
  if (!number || !(number->value >= 1) || number->value >= 1e9 ||
      number->value != std::floor(number->value))
    return std::nullopt;
  const std::string unit = lower(number->unit);
  const bool plain = unit.empty() || unit.starts_with("gpu") || unit.starts_with("worker") ||
                     unit.starts_with("process") || unit.starts_with("rank") ||
                     unit.starts_with("device") || unit.starts_with("node");
  return plain ? std::optional(static_cast<std::int64_t>(number->value)) : std::nullopt;
}

bool says_gpus(std::string_view cell) {
  return count_in_cell(cell) && contains_any<"gpu", "GPU", "worker", "Worker">(cell);
}

/// What the names say, and where they say nothing, the cells: "1 GPU", "2 GPUs" under "Setup".
Columns columns_of_table(const TextTable& table) {
  Columns columns;
  for (const std::string& name : table.columns) columns.push_back(table_column(name));
  if (has_column(columns, {TableRole::kWorkers})) return columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].role != TableRole::kUnknown) continue;
    const bool counts = std::all_of(table.rows.begin(), table.rows.end(),
                                    [&](const auto& row) { return says_gpus(row.cells[i]); });
    if (counts) {
      columns[i].role = TableRole::kWorkers;
      break;
    }
  }
  return columns;
}

bool is_figure(const TableColumn& column) {
  return column.role == TableRole::kMetric || column.role == TableRole::kTotalTime ||
         column.role == TableRole::kUnclearTime || column.role == TableRole::kStepRate ||
         column.role == TableRole::kOtherFigure;
}

bool is_configuration(TableRole role) {
  return role == TableRole::kWorkers || role == TableRole::kNodes ||
         role == TableRole::kWorkersPerNode || role == TableRole::kBatch ||
         role == TableRole::kBatchPerWorker || role == TableRole::kGlobalBatch ||
         role == TableRole::kFact || role == TableRole::kSetting;
}

bool has_one_meaning(const TableColumn& a, const TableColumn& b) {
  return a.role == b.role && a.role != TableRole::kUnknown && a.role != TableRole::kIgnored &&
         a.role != TableRole::kFact && a.role != TableRole::kSetting &&
         a.role != TableRole::kOtherFigure && a.metric.metric == b.metric.metric &&
         (a.role != TableRole::kReported || a.name == b.name);
}

/// Of two columns with one meaning ("ResNet18 epoch time", "ResNet50 epoch time") neither is taken.
/// False where that leaves the configuration itself in doubt.
bool leave_out_doubles(Columns& columns) {
  std::set<std::size_t> doubles;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (std::size_t k = i + 1; k < columns.size(); ++k) {
      if (!has_one_meaning(columns[i], columns[k])) continue;
      if (is_configuration(columns[i].role) || columns[i].role == TableRole::kEpoch) return false;
      doubles.insert({i, k});
    }
  }
  for (const std::size_t i : doubles) columns[i].role = TableRole::kIgnored;
  return true;
}

/// A column without a meaning distinguishes lines that are equal otherwise: they are no repeats.
void settle_unknown(const TextTable& table, Columns& columns) {
  std::set<std::string> seen;
  bool twice = false;
  for (const TextTable::Row& row : table.rows) {
    std::string key;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (is_configuration(columns[i].role)) key += row.cells[i] + "|";
    }
    twice = !seen.insert(key).second || twice;
  }
  for (TableColumn& column : columns) {
    if (twice && column.role == TableRole::kUnknown) column.role = TableRole::kSetting;
  }
}

/// Seconds of a cell: its own unit, else that of the header.
std::optional<double> seconds_of_cell(const CellNumber& number, const TableColumn& column) {
  if (number.unit.empty()) return number.value * column.scale;
  const auto factor = unit_factor(Quantity::kTime, lower(number.unit));
  return factor ? std::optional(number.value * *factor) : std::nullopt;
}

void add_outcome(const CellNumber& number, const TableColumn& column, ImportedRun& run) {
  record::EpochResult end = run.at_end.value_or(record::EpochResult{});
  const bool percent = column.percent || number.unit == "%" || number.value > 1;
  const double fraction = percent ? number.value / 100 : number.value;
  switch (column.metric.metric) {
    case Metric::kTrainLoss:
      end.train_loss = number.value;
      break;
    case Metric::kValLoss:
      end.val_loss = number.value;
      break;
    case Metric::kTrainAccuracy:
      // "Accuracy" of a finished run may be of training or of a test.
      if (column.metric.rank >= 2) {
        run.other[column.name].add(0, fraction);
        return;
      }
      end.train_accuracy = fraction;
      break;
    default:
      end.val_accuracy = fraction;
  }
  run.at_end = end;
}

void add_metric(const CellNumber& number, const TableColumn& column, ImportedRun& run) {
  const auto seconds = seconds_of_cell(number, column);
  switch (column.metric.metric) {
    case Metric::kEpochTime:
      if (seconds && *seconds > 0) run.epoch_s = *seconds;
      return;
    case Metric::kStepTime:
      if (seconds && *seconds > 0) run.step_time.add(0, *seconds);
      return;
    case Metric::kThroughput:
      if (number.value > 0) run.reported_throughput = number.value;
      return;
    case Metric::kThroughputPerWorker:
      if (number.value > 0) run.throughput_per_worker.add(0, number.value);
      return;
    default:
      add_outcome(number, column, run);
  }
}

void add_cell(std::string_view cell, const TableColumn& column, ImportedRun& run,
              std::string& settings) {
  const auto number = cell_number(cell);
  const auto count = count_in_cell(cell);
  switch (column.role) {
    case TableRole::kWorkers:
      if (count) run.workers.offer(*count);
      break;
    case TableRole::kNodes:
      if (count) run.nodes.offer(*count);
      break;
    case TableRole::kBatch:
      if (count) run.batch_said = *count;
      break;
    case TableRole::kBatchPerWorker:
      if (count) run.batch_per_worker.offer(*count);
      break;
    case TableRole::kGlobalBatch:
      if (count) run.global_batch.offer(*count);
      break;
    case TableRole::kFact:
      if (!offer_config(column.name, cell, run))
        settings += fmt::format("{}{} {}", settings.empty() ? "" : ", ", column.name, cell);
      break;
    case TableRole::kSetting:
      settings += fmt::format("{}{} {}", settings.empty() ? "" : ", ", column.name, cell);
      break;
    case TableRole::kReported:
      if (number && std::isfinite(number->value)) {
        const bool percent = number->unit == "%" || column.percent;
        run.reported[column.name] = number->value * (percent ? 0.01 : 1);
      }
      break;
    case TableRole::kTotalTime:
      if (const auto time = number ? seconds_of_cell(*number, column) : std::nullopt;
          time && *time > 0)
        run.total_s = *time;
      break;
    case TableRole::kUnclearTime:
      if (const auto time = number ? seconds_of_cell(*number, column) : std::nullopt;
          time && *time > 0) {
        run.other[column.name].add(0, *time);
        run.warnings.emplace_back(
            "the table does not state whether its time is of an epoch or of the run; it is kept as "
            "\"time\" and not compared; name the column \"epoch time\" or \"total time\"");
      }
      break;
    case TableRole::kStepRate:
      if (number && number->value > 0) run.step_time.add(0, 1 / number->value);
      break;
    case TableRole::kOtherFigure:
      if (number && std::isfinite(number->value) && run.other.size() < kMostTableFigures)
        run.other[printable(column.name, 60)].add(0, number->value);
      break;
    case TableRole::kMetric:
      if (number && std::isfinite(number->value)) add_metric(*number, column, run);
      break;
    default:
      break;
  }
  const std::string word = lower(cell);
  if (is_figure(column) && (word == "oom" || contains(word, "out of memory"))) {
    run.out_of_memory = true;
    run.failure = printable(cell);
  }
}

/// What the lines between the table before and this one state about all its runs.
void offer_facts_above(const TextTable& table, ImportedRun& run) {
  std::vector<StatedFact> facts;
  for (const std::string& line : table.above) find_facts(line, facts);
  for (const StatedFact& fact : facts) {
    if (fact.key == FactKey::kBatchPerWorker && !run.batch_per_worker && !run.batch_said)
      run.batch_per_worker.offer(fact.number);
    if (fact.key == FactKey::kGlobalBatch && !run.global_batch && !run.batch_said)
      run.global_batch.offer(fact.number);
    if (fact.key == FactKey::kBatch && !run.batch_per_worker && !run.global_batch &&
        !run.batch_said)
      run.batch_said = fact.number;
    if (fact.key == FactKey::kDevices && !run.workers) run.workers.offer(fact.number);
    if (fact.key == FactKey::kDevice && !run.device) run.device.offer(fact.text);
    if (fact.key == FactKey::kModel && !run.model) run.model.offer(fact.text);
    if (fact.key == FactKey::kDataset && !run.dataset) run.dataset.offer(fact.text);
  }
}

void settle_table_batch(std::string& settings, ImportedRun& run) {
  if (!run.batch_said || !run.workers || *run.workers < 2) return;
  settings += fmt::format("{}batch size {}", settings.empty() ? "" : ", ", *run.batch_said);
  run.warnings.push_back(fmt::format(
      "the table does not state whether batch size {0} is of one worker or of all; --set batch={0} "
      "or --set global_batch={0} decides",
      *run.batch_said));
  run.batch_said.reset();
}

std::vector<ImportedRun> runs_of_rows(const TextTable& table, const Columns& columns) {
  std::vector<ImportedRun> runs;
  for (const TextTable::Row& row : table.rows) {
    ImportedRun run;
    std::string settings;
    std::int64_t each = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      add_cell(row.cells[i], columns[i], run, settings);
      if (columns[i].role == TableRole::kWorkersPerNode)
        each = count_in_cell(row.cells[i]).value_or(0);
    }
    if (!run.workers && each > 0 && run.nodes) run.workers.offer(*run.nodes * each);
    if (!run.has_figures()) continue;
    offer_facts_above(table, run);
    settle_table_batch(settings, run);
    if (!settings.empty()) run.notes["setting"] = printable(settings);
    runs.push_back(std::move(run));
  }
  return runs;
}

/// Times that rise by about the first from epoch to epoch are those of a clock.
bool are_of_a_clock(const std::vector<std::pair<std::int64_t, double>>& times) {
  if (times.size() < 3) return false;
  for (std::size_t i = 1; i < times.size(); ++i) {
    if (times[i].second <= times[i - 1].second) return false;
  }
  return times.back().second > 0.6 * static_cast<double>(times.size()) * times.front().second;
}

/// Lines that are the epochs of one run, as fastai prints them.
std::vector<ImportedRun> run_of_epochs(const TextTable& table, const Columns& columns) {
  EpochTable epochs;
  std::vector<std::pair<std::int64_t, double>> times;
  const bool validated = std::any_of(columns.begin(), columns.end(), [](const auto& column) {
    return column.role == TableRole::kMetric && column.metric.metric == Metric::kValLoss;
  });
  const bool trained = std::any_of(columns.begin(), columns.end(), [](const auto& column) {
    return column.role == TableRole::kMetric && column.metric.metric == Metric::kTrainLoss;
  });
  ImportedRun run;
  std::set<std::int64_t> seen;
  for (const TextTable::Row& row : table.rows) {
    std::optional<std::int64_t> epoch;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto number = cell_number(row.cells[i]);
      if (columns[i].role != TableRole::kEpoch || !number) continue;
      if (number->value < 0 || number->value > 1e6 || number->value != std::floor(number->value))
        return {};
      epoch = static_cast<std::int64_t>(number->value);
    }
    // The same epoch again is another run, or one more line about it.
    if (!epoch || !seen.insert(*epoch).second) return {};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const TableColumn& column = columns[i];
      const auto number = cell_number(row.cells[i]);
      if (!number || !std::isfinite(number->value)) continue;
      const bool time =
          column.role == TableRole::kUnclearTime ||
          (column.role == TableRole::kMetric && column.metric.metric == Metric::kEpochTime);
      if (time) {
        if (const auto seconds = seconds_of_cell(*number, column); seconds && *seconds > 0)
          times.emplace_back(*epoch, *seconds);
      } else if (column.role == TableRole::kMetric) {
        MetricName metric = column.metric;
        // fastai's metrics beside train_loss and valid_loss are of the validation; elsewhere they
        // may be of either.
        if (metric.metric == Metric::kTrainAccuracy && metric.rank >= 2 && validated) {
          if (!trained || table.columns[1] != "train_loss" || table.columns[2] != "valid_loss") {
            run.other[column.name].add(*epoch, number->value);
            continue;
          }
          metric = {Metric::kValAccuracy, 0};
        }
        if (column.percent || number->unit == "%") {
          epochs.set_percent(*epoch, metric, number->value);
        } else {
          epochs.set(*epoch, metric, number->value);
        }
      }
    }
  }
  if (are_of_a_clock(times)) {
    run.notes["epoch_time"] = "difference of two values of a running clock";
    run.warnings.emplace_back(
        "the epoch times increase like a running clock; their differences are used");
    for (std::size_t i = times.size() - 1; i > 0; --i) times[i].second -= times[i - 1].second;
  }
  for (const auto& [epoch, seconds] : times) epochs.set(epoch, Metric::kEpochTime, seconds);
  run.epochs = epochs.results();
  if (run.epochs.empty()) return {};
  offer_facts_above(table, run);
  std::vector<ImportedRun> runs;
  runs.push_back(std::move(run));
  return runs;
}

std::vector<ImportedRun> runs_of_table(const TextTable& table) {
  Columns columns = columns_of_table(table);
  if (!leave_out_doubles(columns) || std::none_of(columns.begin(), columns.end(), is_figure))
    return {};
  if (has_column(columns, {TableRole::kStep})) return {};
  if (has_column(columns, {TableRole::kEpoch})) return run_of_epochs(table, columns);
  if (!has_column(columns, {TableRole::kWorkers, TableRole::kNodes, TableRole::kBatch,
                            TableRole::kBatchPerWorker, TableRole::kGlobalBatch}))
    return {};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name.empty()) columns[i].name = lower(table.columns[i]);
  }
  settle_unknown(table, columns);
  return runs_of_rows(table, columns);
}

/// "2 GPUs: 23.1 s/epoch", "4 workers - 3961 img/s": a count at the front of the line, and where
/// the line goes on.
std::optional<std::pair<std::int64_t, std::string_view>> counted_line(std::string_view line) {
  line = trim(line);
  while (line.starts_with('-') || line.starts_with('*')) line = trim(line.substr(1));
  if (line.empty() || line.size() > 200 || !is_digit(line[0])) return std::nullopt;
  const std::size_t sign = line.find_first_of(":=");
  const std::size_t dash = line.find(" - ");
  const std::size_t end = std::min(sign, dash == std::string_view::npos ? dash : dash + 1);
  if (end == std::string_view::npos) return std::nullopt;
  const auto count =
      says_gpus(line.substr(0, end)) ? count_in_cell(line.substr(0, end)) : std::nullopt;
  if (!count) return std::nullopt;
  return std::pair(*count, line.substr(end + 1));
}

/// The figures that their units alone explain; anything else on the line is left out.
ImportedRun run_of_line(std::int64_t workers, std::string_view text) {
  ImportedRun run;
  run.workers.offer(workers);
  for_each_figure(text, [&](const Figure& figure) {
    if (figure.unit.find('/') == std::string_view::npos) return;
    TableColumn column = table_column(figure.unit);
    if (column.role != TableRole::kMetric && column.role != TableRole::kStepRate) return;
    std::string settings;
    add_cell(fmt::format("{}", figure.value), column, run, settings);
  });
  return run;
}

/// Lines that each begin with another count, two or more below each other.
std::vector<ImportedRun> runs_of_lines(std::string_view text) {
  std::vector<ImportedRun> all;
  std::vector<ImportedRun> block;
  std::set<std::int64_t> counts;
  const auto close = [&] {
    if (block.size() > 1 && counts.size() == block.size() && all.empty()) all = std::move(block);
    block.clear();
    counts.clear();
  };
  while (!text.empty()) {
    const std::size_t stop = text.find('\n');
    const std::string_view line = text.substr(0, stop);
    text = stop == std::string_view::npos ? std::string_view() : text.substr(stop + 1);
    if (trim(line).empty()) continue;
    const auto counted = counted_line(line);
    ImportedRun run = counted ? run_of_line(counted->first, counted->second) : ImportedRun();
    if (!run.has_figures()) {
      close();
      continue;
    }
    counts.insert(counted->first);
    block.push_back(std::move(run));
  }
  close();
  return all;
}

/// The line above a table tells it from the others of the text.
std::string title_of(const TextTable& table) {
  if (table.above.empty()) return {};
  std::string_view title = trim(table.above.back());
  while (title.starts_with('#') || title.starts_with('*')) title.remove_prefix(1);
  while (title.ends_with(':') || title.ends_with('*')) title.remove_suffix(1);
  return printable(trim(title), 80);
}

std::vector<ImportedRun> runs_of_tables(const std::vector<TextTable>& tables) {
  std::vector<ImportedRun> all;
  std::set<std::string> known;
  std::size_t with_runs = 0;
  for (const TextTable& table : tables) {
    std::string content;
    for (const TextTable::Row& row : table.rows)
      content += fmt::format("{}\n", fmt::join(row.cells, "|"));
    if (!known.insert(content).second) continue;  // printed again
    std::vector<ImportedRun> runs = runs_of_table(table);
    if (!runs.empty()) ++with_runs;
    for (ImportedRun& run : runs) {
      if (const std::string title = title_of(table); !title.empty()) run.notes["heading"] = title;
      all.push_back(std::move(run));
    }
  }
  if (with_runs < 2) {
    for (ImportedRun& run : all) run.notes.erase("heading");
  }
  return all;
}

/// The runs of the tables; without any, those of lines that begin with a count.
std::vector<ImportedRun> runs_of_text(std::string_view text) {
  std::vector<ImportedRun> runs = runs_of_tables(find_tables(text));
  return runs.empty() ? runs_of_lines(text) : runs;
}

/// Tables of runs that a person or a script wrote.
class TablesReader final : public Reader {
 public:
  std::string_view name() const override { return "tables"; }
  std::string_view description() const override {
    return "tables of runs or epochs in a text (GPUs | batch size | time per epoch (s) | speedup)";
  }
  Match recognise(const Sample& sample) const override {
    if (runs_of_text(sample.text).empty()) return Match::kNo;
    // Frames of pandas have lines of their own, which look like a table where they were torn.
    return runs_of_frames(find_frames(sample.text)).empty() ? Match::kLikely : Match::kNo;
  }
  void read(Input& input, ImportSink& sink) const override {
    const std::string text = without_escapes(input.peek(kMostTableText));
    std::size_t number = 0;
    for (ImportedRun& run : runs_of_text(text)) {
      if (++number > 1) run.label = "#" + std::to_string(number);
      sink.add(std::move(run));
    }
  }
};

}  // namespace

std::unique_ptr<Reader> make_tables_reader() {
  return std::make_unique<TablesReader>();
}

}  // namespace lockstep::import
