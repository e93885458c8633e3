#include "lockstep/study/run_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "lockstep/base/statistics.h"
#include "lockstep/base/units.h"

namespace lockstep::study {
namespace {

std::optional<double> median_of(const std::vector<record::Measurement>& rows, const char* metric) {
  std::vector<double> values;
  for (const record::Measurement& row : rows) {
    if (row.metric == metric && !row.warm_up) values.push_back(row.value);
  }
  if (values.empty()) return std::nullopt;
  return median(values);
}

/// 0 = not known.
std::string batch_text(std::int64_t batch) {
  return batch > 0 ? std::to_string(batch) : "-";
}

report::Cell batch_cell(std::int64_t batch) {
  return batch > 0 ? report::count(batch) : report::Cell();
}

std::string rate_text(const RunFigures& figures) {
  return figures.examples_per_s ? format_count(std::llround(*figures.examples_per_s)) : "-";
}

std::string epoch_text(const RunFigures& figures) {
  if (!figures.epoch_s) return "-";
  return fmt::format("{}{:.2f}", figures.epoch_derived ? "~" : "", *figures.epoch_s);
}

}  // namespace

RunFigures run_figures(const std::vector<record::Measurement>& rows) {
  RunFigures figures;
  figures.examples_per_s = median_of(rows, "throughput");
  figures.epoch_s = median_of(rows, "epoch_time");
  if (rows.empty() || !rows.front().examples || *rows.front().examples <= 0) return figures;
  const double examples = static_cast<double>(*rows.front().examples);
  if (!figures.epoch_s && figures.examples_per_s && *figures.examples_per_s > 0) {
    figures.epoch_s = examples / *figures.examples_per_s;
    figures.epoch_derived = true;
  }
  if (!figures.examples_per_s && figures.epoch_s && *figures.epoch_s > 0) {
    figures.examples_per_s = examples / *figures.epoch_s;
  }
  return figures;
}

/// "overlap"; "overlap, 2 threads" in a study that varies them; empty for other programs.
std::string setting_text(const Cell& cell) {
  std::string text(cell.strategy ? record::name_of(cell.strategy) : "");
  if (cell.threads > 0) {
    text += (text.empty() ? "" : ", ") + counted(cell.threads, "thread");
  }
  return text;
}

RunLines::RunLines(std::span<const PlannedRun> plan) {
  for (const PlannedRun& planned : plan) {
    setting_width_ = std::max(setting_width_, setting_text(planned.cell).size());
  }
  if (setting_width_ > 0) setting_width_ = std::max(setting_width_, std::string("setting").size());
}

std::string RunLines::setting(const std::string& text) const {
  return setting_width_ == 0 ? "" : fmt::format("  {:<{}}", text, setting_width_);
}

std::string RunLines::header() const {
  return fmt::format("{:>9} {:>3} {:>6} {:>7}{} {:>6} {:>11} {:>9}  {}", "run", "N", "b", "B",
                     setting("setting"), "repeat", "examples/s", "s/epoch", "status");
}

std::string RunLines::line(std::size_t at, std::size_t of, const PlannedRun& planned,
                           const RunFigures& figures, const std::string& status) const {
  const Cell& cell = planned.cell;
  return fmt::format("{:>9} {:>3} {:>6} {:>7}{} {:>6} {:>11} {:>9}  {}",
                     fmt::format("{}/{}", at, of), cell.workers, batch_text(cell.batch_per_worker),
                     batch_text(cell.global_batch()), setting(setting_text(cell)), planned.repeat,
                     rate_text(figures), epoch_text(figures), status);
}

std::vector<std::string> ladder_sentences(std::span<const PlannedRun> plan,
                                          std::span<const StoredState> states) {
  struct Reach {
    std::int64_t fits = 0;
    std::int64_t too_large = 0;
    std::int64_t failed = 0;
  };
  std::map<std::tuple<std::string, int, std::optional<record::Strategy>>, Reach> ladders;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].ladder.empty()) continue;
    const Cell& cell = plan[i].cell;
    Reach& reach = ladders[{plan[i].ladder, cell.workers, cell.strategy}];
    const auto least = [&](std::int64_t& value) {
      if (value == 0 || cell.batch_per_worker < value) value = cell.batch_per_worker;
    };
    switch (states[i].state) {
      case PlannedState::kDone:
        reach.fits = std::max(reach.fits, cell.batch_per_worker);
        break;
      case PlannedState::kOutOfMemory:
        least(reach.too_large);
        break;
      case PlannedState::kFailed:
        least(reach.failed);
        break;
      case PlannedState::kOpen:
        break;
    }
  }
  std::vector<std::string> sentences;
  for (const auto& [key, reach] : ladders) {
    const auto& [ladder, workers, strategy] = key;
    const auto batch = [n = workers](std::int64_t b) {
      return fmt::format("b = {} (B = {})", format_count(b), format_count(b * n));
    };
    std::string text = fmt::format("ladder on {}{}: ", counted(workers, "worker"),
                                   strategy ? fmt::format(", {}", record::name_of(strategy)) : "");
    text += reach.fits > 0 ? fmt::format("the largest batch that fits is {}", batch(reach.fits))
                           : std::string("no batch fits");
    if (reach.too_large > 0) text += fmt::format("; {} ran out of memory", batch(reach.too_large));
    if (reach.failed > 0)
      text += fmt::format("; {} failed for another reason", batch(reach.failed));
    if (reach.too_large == 0 && reach.failed == 0) text += "; memory was not the limit";
    sentences.push_back(text + ".");
  }
  return sentences;
}

report::Table plan_table(const std::vector<PlanRow>& rows) {
  using report::Align;
  report::Table table;
  table.columns = {
      {"what", "", "what", Align::kLeft, ""},
      {"N", "", "workers", Align::kRight, "workers"},
      {"b", "", "batch_per_worker", Align::kRight, "examples per worker and step"},
      {"B", "", "global_batch", Align::kRight, "examples per step"},
      {"setting", "", "setting", Align::kLeft, "strategy, and threads per worker if they vary"},
      {"runs", "", "runs", Align::kRight, "repeats of this configuration"},
      {"done", "", "done", Align::kRight, "of them, already in the store"},
      {"failed", "", "failed", Align::kRight, "of them, tried without success"},
      {"out of memory", "", "out_of_memory", Align::kRight, "of them, did not fit"},
      {"each about", "s", "estimate_s", Align::kRight, "estimated duration of one run"}};
  table.label_columns = 5;
  for (const PlanRow& row : rows) {
    table.rows.push_back(
        {row.title, report::count(row.cell.workers), batch_cell(row.cell.batch_per_worker),
         batch_cell(row.cell.global_batch()), setting_text(row.cell), report::count(row.runs),
         report::count(row.done), report::count(row.failed), report::count(row.out_of_memory),
         row.each ? report::significant(row.each->count()) : report::Cell()});
  }
  return table;
}

}  // namespace lockstep::study
