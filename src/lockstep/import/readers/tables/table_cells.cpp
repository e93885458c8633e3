#include "lockstep/import/readers/tables/table_cells.h"

#include <fmt/format.h>

#include <cmath>

#include "lockstep/import/model/config_facts.h"
#include "lockstep/import/model/measurement_units.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kMostTableFigures = 64;

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

/// A column "Throughput" may have its unit in the cells: "43,469 tok/s" counts no examples.
bool counts_examples_in_cell(const CellNumber& number) {
  const std::string unit = lower(number.unit);
  return unit.empty() || contains_any<"img", "image", "sampl", "exampl", "seq", "ex/s">(unit);
}

void add_other_rate(const CellNumber& number, const TableColumn& column, ImportedRun& run) {
  const std::string unit = lower(number.unit);
  const bool tokens =
      unit == "tok/s" || unit == "tokens/s" || unit == "tok/sec" || unit == "tokens/sec";
  const bool whole = column.metric.metric == Metric::kThroughput || column.name == "tokens_per_s";
  const std::string name = tokens && whole
                               ? "tokens_per_s"
                               : printable(fmt::format("{} ({})", column.name, number.unit), 60);
  if (run.other.size() < kMostTableFigures) run.other[name].add(0, number.value);
}

/// Keeps a time without a unit under its own name until its unit is stated.
void add_unitless(const CellNumber& number, const TableColumn& column, UnitlessTime::Of of,
                  ImportedRun& run) {
  if (!number.unit.empty() || column.unit_stated || !(number.value > 0)) return;
  const std::string name = printable(column.name, 60);
  run.other[name].add(0, number.value);
  run.unitless_times.push_back({of, number.value, name});
}

void add_metric(const CellNumber& number, const TableColumn& column, ImportedRun& run) {
  const bool rate = column.metric.metric == Metric::kThroughput ||
                    column.metric.metric == Metric::kThroughputPerWorker;
  if (rate && !counts_examples_in_cell(number)) {
    add_other_rate(number, column, run);
    return;
  }
  const auto seconds = seconds_of_cell(number, column);
  switch (column.metric.metric) {
    case Metric::kEpochTime:
      if (seconds && *seconds > 0) run.epoch_s = *seconds;
      add_unitless(number, column, UnitlessTime::Of::kEpoch, run);
      return;
    case Metric::kStepTime:
      if (seconds && *seconds > 0) run.step_time.add(0, *seconds);
      add_unitless(number, column, UnitlessTime::Of::kStep, run);
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

/// "**DDP**" and "`fp16`" of Markdown.
std::string_view without_emphasis(std::string_view cell) {
  cell = trim(cell);
  for (const std::string_view sign : {"**", "*", "`", "__"}) {
    while (cell.size() > 2 * sign.size() && cell.starts_with(sign) && cell.ends_with(sign))
      cell = trim(cell.substr(sign.size(), cell.size() - 2 * sign.size()));
  }
  return cell;
}

}  // namespace

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

std::optional<std::int64_t> gpus_named_in(std::string_view cell) {
  const std::string text = lower(cell);
  for (std::size_t at = text.find("gpu"); at != std::string::npos; at = text.find("gpu", at + 1)) {
    std::size_t end = at;
    while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '-')) --end;
    std::size_t begin = end;
    while (begin > 0 && is_digit(text[begin - 1])) --begin;
    const char before = begin > 0 ? text[begin - 1] : ' ';
    const bool apart = before == ' ' || before == '_' || before == '(' || before == ',' ||
                       before == '-' || before == ':';
    const auto count = parse_integer(std::string_view(text).substr(begin, end - begin));
    if (apart && count && *count >= 1 && *count <= 1024) return count;
  }
  return std::nullopt;
}

std::optional<std::int64_t> devices_named_in(std::string_view cell) {
  if (const auto gpus = gpus_named_in(cell)) return gpus;
  std::string_view rest = trim(cell);
  if (rest.empty() || !is_digit(rest[0])) return std::nullopt;
  const std::size_t end = rest.find_first_not_of("0123456789");
  const auto count = parse_integer(rest.substr(0, end));
  if (!count || *count < 1 || *count > 1024 || end == std::string_view::npos) return std::nullopt;
  rest = trim(rest.substr(end));
  bool times = false;
  for (const std::string_view sign : {"x", "X", "\u00d7"}) {
    times = rest.starts_with(sign);
    if (!times) continue;
    rest = trim(rest.substr(sign.size()));
    break;
  }
  const std::string device = lower(rest);
  const bool known = contains_any<"a100", "h100", "h200", "h800", "a800", "b200", "gh200", "v100",
                                  "p100", "l40", "a10", "a6000", "k80", "rtx", "gtx", "tesla",
                                  "titan", "mi250", "mi300", "nvidia", "geforce">(device);
  return times && known ? count : std::nullopt;
}

bool is_figure(const TableColumn& column) {
  return column.role == TableRole::kMetric || column.role == TableRole::kTotalTime ||
         column.role == TableRole::kUnclearTime || column.role == TableRole::kStepRate ||
         column.role == TableRole::kOtherFigure;
}

std::optional<double> seconds_of_cell(const CellNumber& number, const TableColumn& column) {
  if (number.unit.empty() && !column.unit_stated) return std::nullopt;
  if (number.unit.empty()) return number.value * column.scale;
  const auto factor = unit_factor(Quantity::kTime, lower(number.unit));
  return factor ? std::optional(number.value * *factor) : std::nullopt;
}

void add_cell(std::string_view cell, const TableColumn& column, ImportedRun& run,
              std::string& settings) {
  cell = without_emphasis(cell);
  const auto number = cell_number(cell);
  const auto count = count_in_cell(cell);
  switch (column.role) {
    case TableRole::kWorkers:
      if (count) run.workers.offer(*count);
      break;
    case TableRole::kNamedWorkers:
      if (const auto named = devices_named_in(cell)) run.workers.offer(*named);
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
    case TableRole::kSplit:
      run.may_split_model = run.may_split_model || (count && *count > 1);
      [[fallthrough]];
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
      if (number) add_unitless(*number, column, UnitlessTime::Of::kRun, run);
      break;
    case TableRole::kUnclearTime:
      if (const auto time = !number                ? std::nullopt
                            : number->unit.empty() ? std::optional(number->value * column.scale)
                                                   : seconds_of_cell(*number, column);
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
      if (number && !number->unit.empty() && column.name == "tokens_per_s") {
        add_other_rate(*number, column, run);  // "45.2 k"
      } else if (number && std::isfinite(number->value) && run.other.size() < kMostTableFigures)
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

}  // namespace lockstep::import
