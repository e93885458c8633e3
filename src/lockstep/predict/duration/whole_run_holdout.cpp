#include "lockstep/predict/duration/whole_run_holdout.h"

#include <algorithm>
#include <set>

#include "lockstep/base/error.h"

namespace lockstep::predict {
namespace {

std::optional<HeldOutTotal> hold_out_longest(TableSeries table, double workers) {
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
  // A series of total times must not include the held-out ones either.
  if (table.metric == Metric::kTotalTime && table.epochs == longest.epochs) {
    table.epochs = shortest.epochs;
    table.series.points = {{workers, 1 / shortest.seconds, 0}};
  }
  const JobPrediction job = predict_job(table, {.workers = workers, .epochs = longest.epochs});
  if (!job.total_s) return std::nullopt;
  const double ratio = static_cast<double>(longest.epochs) / static_cast<double>(shortest.epochs);
  return HeldOutTotal{table.name, longest, *job.total_s, shortest.seconds * ratio};
}

}  // namespace

std::vector<HeldOutTotal> hold_out_longest_runs(const std::vector<TableSeries>& series) {
  std::vector<HeldOutTotal> all;
  for (const TableSeries& table : series) {
    std::set<double> counts;
    for (const WholeRun& run : table.whole_runs) counts.insert(run.workers);
    for (const double workers : counts) {
      if (auto one = hold_out_longest(table, workers)) all.push_back(std::move(*one));
    }
  }
  if (all.empty()) {
    throw Error(ErrorKind::kData, "no worker count was run for two different numbers of epochs",
                "measure the total_time of a short and a long run");
  }
  return all;
}

}  // namespace lockstep::predict
