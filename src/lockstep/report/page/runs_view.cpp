#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lockstep/report/page/views.h"
#include "lockstep/report/run_tables.h"

namespace lockstep::report {

std::string run_title(const store::RunSummary& run) {
  std::string title = fmt::format("run {}: {}, {} x {}", run.id, run.spec.recipe, run.spec.workers,
                                  run.spec.batch_per_worker);
  if (run.spec.strategy && run.spec.workers > 1) {
    title += fmt::format(", {}", record::name_of(run.spec.strategy));
  }
  return title;
}

std::vector<const RunDigest*> shown_runs(std::span<const RunDigest> runs) {
  std::vector<const RunDigest*> newest;
  std::set<std::string> seen;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    const record::RunSpec& spec = run->run.started.spec;
    const std::string key = fmt::format("{}|{}|{}|{}|{}", spec.recipe, spec.device, spec.workers,
                                        spec.batch_per_worker, record::name_of(spec.strategy));
    if (run->steps.steps > 0 && seen.insert(key).second) newest.push_back(&*run);
  }
  std::stable_sort(newest.begin(), newest.end(), [](const RunDigest* a, const RunDigest* b) {
    return a->run.started.spec.workers > b->run.started.spec.workers;
  });
  if (newest.size() > kMostLines) newest.resize(kMostLines);
  return newest;
}

View runs_view(const PageContext& context) {
  View view{"runs", "Runs", "This page shows a measurements table, not runs."};
  const auto add = [&view](Table table, const char* title) {
    if (table.title.empty()) table.title = title;
    view.tables.push_back(std::move(table));
  };
  if (!context.source.listed.empty()) add(runs_table(context.source.listed), "Runs");
  if (context.source.listed.size() == 1 && !context.source.runs.empty()) {
    const store::StoredRun& run = context.source.runs.front().run;
    add(run_facts_table(run), "Settings, machine and build");
    if (!run.epochs.empty()) add(epochs_table(run.epochs), "Epochs");
    if (!run.errors.empty()) add(errors_table(run.errors), "Errors of workers");
  }
  return view;
}

}  // namespace lockstep::report
