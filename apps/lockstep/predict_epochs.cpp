#include "predict_epochs.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lockstep/base/terminal.h"
#include "lockstep/base/units.h"
#include "lockstep/predict/whole_run_holdout.h"
#include "predict_output.h"

namespace lockstep::cli {
namespace {

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
  for (const predict::HeldOutTotal& one : predict::hold_out_longest_runs(measured_series(source))) {
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
