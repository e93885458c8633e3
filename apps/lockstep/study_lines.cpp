#include "study_lines.h"

#include <fmt/format.h>

#include <cmath>

#include "lockstep/base/statistics.h"

namespace lockstep::cli {
namespace {

std::optional<double> median_of(const std::vector<record::Measurement>& rows, const char* metric) {
  std::vector<double> values;
  for (const record::Measurement& row : rows) {
    if (row.metric == metric && !row.notes.contains("warm_up")) values.push_back(row.value);
  }
  if (values.empty()) return std::nullopt;
  return median(values);
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

std::string queue_sentence(const std::vector<store::RunSummary>& runs) {
  std::vector<double> waits;
  for (const store::RunSummary& run : runs) {
    if (run.state == store::RunState::kDone && run.spec.queue_wait_s >= 0) {
      waits.push_back(run.spec.queue_wait_s);
    }
  }
  if (waits.empty()) return "";
  return fmt::format(
      "queue: runs waited {} before they started (median of {}, {} to {}); no time above contains "
      "it.",
      format_seconds(Seconds(median(waits))), waits.size(),
      format_seconds(Seconds(quantile(waits, 0))), format_seconds(Seconds(quantile(waits, 1))));
}

std::string run_line_header() {
  return fmt::format("{:>9} {:>3} {:>6} {:>7}  {:<9} {:>6} {:>11} {:>9}  {}", "run", "N", "b", "B",
                     "strategy", "repeat", "examples/s", "s/epoch", "status");
}

std::string run_line(std::size_t at, std::size_t of, const study::PlannedRun& planned,
                     const RunFigures& figures, const std::string& status) {
  const study::Cell& cell = planned.cell;
  return fmt::format("{:>9} {:>3} {:>6} {:>7}  {:<9} {:>6} {:>11} {:>9}  {}",
                     fmt::format("{}/{}", at, of), cell.workers, cell.batch_per_worker,
                     cell.global_batch(), cell.strategy.empty() ? "-" : cell.strategy,
                     planned.repeat, rate_text(figures), epoch_text(figures), status);
}

report::Table plan_table(const std::vector<PlanRow>& rows) {
  using report::Align;
  report::Table table;
  table.columns = {
      {"what", "", "what", Align::kLeft, ""},
      {"N", "", "workers", Align::kRight, "workers"},
      {"b", "", "batch_per_worker", Align::kRight, "examples per worker and step"},
      {"B", "", "global_batch", Align::kRight, "examples per step"},
      {"strategy", "", "strategy", Align::kLeft, ""},
      {"runs", "", "runs", Align::kRight, "repeats of this configuration"},
      {"done", "", "done", Align::kRight, "of them, already in the store"},
      {"failed", "", "failed", Align::kRight, "of them, tried without success"},
      {"each about", "s", "estimate_s", Align::kRight, "estimated duration of one run"}};
  table.label_columns = 5;
  for (const PlanRow& row : rows) {
    table.rows.push_back(
        {row.title, report::count(row.cell.workers), report::count(row.cell.batch_per_worker),
         report::count(row.cell.global_batch()), row.cell.strategy, report::count(row.runs),
         report::count(row.done), report::count(row.failed),
         row.each ? report::significant(row.each->count()) : report::Cell()});
  }
  return table;
}

}  // namespace lockstep::cli
