#include "predict_epochs.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "lockstep/base/error.h"
#include "lockstep/base/terminal.h"
#include "lockstep/base/units.h"
#include "lockstep/predict/job_prediction.h"
#include "predict_output.h"

namespace lockstep::cli {
namespace {

using predict::WholeRun;

struct HeldOutTotal {
  std::string series;
  WholeRun actual;
  predict::Estimate predicted;
  double scaled_up = 0;  ///< the shortest run x the ratio of epochs
};

std::optional<HeldOutTotal> hold_out(predict::TableSeries table, double workers) {
  std::vector<WholeRun> here;
  for (const WholeRun& run : table.whole_runs) {
    if (run.workers == workers) here.push_back(run);
  }
  std::sort(here.begin(), here.end(),
            [](const WholeRun& a, const WholeRun& b) { return a.epochs < b.epochs; });
  if (here.size() < 2 || here.front().epochs == here.back().epochs) return std::nullopt;
  const WholeRun& shortest = here.front();
  const WholeRun& longest = here.back();
  std::erase_if(table.whole_runs,
                [&](const WholeRun& run) { return run.epochs == longest.epochs; });
  // A series of total times must not know the held-out ones either.
  if (table.metric == predict::Metric::kTotalTime && table.epochs == longest.epochs) {
    table.epochs = shortest.epochs;
    table.series.points = {{workers, 1 / shortest.seconds, 0}};
  }
  const predict::JobPrediction job =
      predict::predict_job(table, {.workers = workers, .epochs = longest.epochs});
  if (!job.total_s) return std::nullopt;
  const double ratio = static_cast<double>(longest.epochs) / static_cast<double>(shortest.epochs);
  return HeldOutTotal{table.name, longest, *job.total_s, shortest.seconds * ratio};
}

std::vector<HeldOutTotal> hold_out_all(const MeasuredSource& source) {
  std::vector<HeldOutTotal> all;
  for (const predict::TableSeries& table : measured_series(source)) {
    std::set<double> counts;
    for (const WholeRun& run : table.whole_runs) counts.insert(run.workers);
    for (const double workers : counts) {
      if (auto one = hold_out(table, workers)) all.push_back(std::move(*one));
    }
  }
  if (all.empty()) {
    throw Error(ErrorKind::kData, "no worker count was run for two different numbers of epochs",
                "measure the total_time of a short and a long run");
  }
  return all;
}

report::Cell error_cell(double predicted, double actual) {
  return {fmt::format("{:+.1f}", 100 * (predicted / actual - 1)), predicted / actual - 1};
}

}  // namespace

void predict_held_out_epochs(const GlobalOptions& global, const MeasuredSource& source) {
  using report::Align;
  report::Table table;
  table.title = "total time of the longest run, predicted from the shorter ones";
  table.columns = {{"series", "", "series", Align::kLeft, ""},
                   {"workers", "", "workers", Align::kRight, ""},
                   {"epochs", "", "epochs", Align::kRight, ""},
                   {"predicted", "", "predicted_s", Align::kRight, ""},
                   {"measured", "", "actual_s", Align::kRight, ""},
                   {"error", "%", "error_percent", Align::kRight, ""},
                   {"scaled up", "%", "scaled_up_error_percent", Align::kRight,
                    "error of the shortest run x the ratio of epochs"}};
  for (const HeldOutTotal& one : hold_out_all(source)) {
    if (global.json) {
      const nlohmann::json line{{"series", one.series},
                                {"workers", static_cast<std::int64_t>(one.actual.workers)},
                                {"epochs", one.actual.epochs},
                                {"metric", "total_time"},
                                {"unit", "s"},
                                {"predicted", one.predicted.value},
                                {"low", one.predicted.low},
                                {"high", one.predicted.high},
                                {"actual", one.actual.seconds}};
      print_line(line);
      continue;
    }
    table.rows.push_back(
        {one.series, report::decimal(one.actual.workers, 0),
         report::decimal(static_cast<double>(one.actual.epochs), 0),
         report::Cell(time_with_interval(one.predicted), one.predicted.value),
         report::Cell(format_seconds(Seconds(one.actual.seconds)), one.actual.seconds),
         error_cell(one.predicted.value, one.actual.seconds),
         error_cell(one.scaled_up, one.actual.seconds)});
  }
  if (global.json) return;
  fmt::print("{}", report::render(table, report::Format::kText, {.width = terminal_width()}));
}

}  // namespace lockstep::cli
