#include "lockstep/serve/study_progress.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace lockstep::serve {
namespace {

using nlohmann::json;
using store::RunState;
using store::RunSummary;

struct Progress {
  std::int64_t runs = 0;
  std::int64_t done = 0;
  std::int64_t running = 0;
  std::int64_t failed = 0;
  std::int64_t last_ns = 0;
  std::optional<double> current_s;  ///< left of the run under way
  std::optional<double> whole_s;    ///< of the run under way, from begin to end
};

void add(Progress& progress, const RunSummary& run) {
  ++progress.runs;
  progress.done += run.state == RunState::kDone;
  progress.running += run.state == RunState::kRunning;
  progress.failed += run.state == RunState::kFailed || run.state == RunState::kKilled;
  progress.last_ns = std::max(progress.last_ns, run.started_wall_ns);
  const auto ahead = outlook(run);
  if (!ahead || !ahead->remaining_s) return;
  progress.current_s = std::max(progress.current_s.value_or(0), *ahead->remaining_s);
  if (ahead->fraction < 1) progress.whole_s = *ahead->remaining_s / (1 - ahead->fraction);
}

std::optional<double> remaining(const Progress& progress, const store::StudyOutlook& outlook) {
  const auto current = progress.current_s ? progress.current_s : outlook.run_s;
  if (!current) return std::nullopt;
  if (outlook.later_s) return *current + *outlook.later_s;
  if (!progress.whole_s) return std::nullopt;
  const std::int64_t later = outlook.planned - progress.done - progress.failed - progress.running;
  return *current + static_cast<double>(std::max<std::int64_t>(0, later)) * *progress.whole_s;
}

}  // namespace

std::optional<Outlook> outlook(const RunSummary& run) {
  if (run.state != RunState::kRunning || !run.progress) return std::nullopt;
  const record::Progress& now = *run.progress;
  std::int64_t all = now.steps_per_epoch * run.spec.epochs;
  if (run.spec.max_steps > 0) all = std::min(all, run.spec.max_steps);
  if (all <= 0) return std::nullopt;
  const std::int64_t done = (now.epoch - 1) * now.steps_per_epoch + now.step;
  Outlook outlook;
  outlook.fraction = std::clamp(static_cast<double>(done) / static_cast<double>(all), 0.0, 1.0);
  if (now.examples_per_s > 0) {
    outlook.remaining_s = static_cast<double>(std::max<std::int64_t>(0, all - done)) *
                          static_cast<double>(run.spec.global_batch()) / now.examples_per_s;
  }
  return outlook;
}

json studies_json(std::span<const RunSummary> runs, std::span<const store::StudyOutlook> outlooks) {
  std::map<std::string, Progress> studies;
  for (const RunSummary& run : runs) {
    if (!run.label.study.empty()) add(studies[run.label.study], run);
  }
  std::vector<std::pair<std::string, Progress>> order(studies.begin(), studies.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.last_ns > b.second.last_ns;
  });
  json out = json::array();
  for (const auto& [name, progress] : order) {
    json one{{"name", name},
             {"runs", progress.runs},
             {"done", progress.done},
             {"running", progress.running},
             {"failed", progress.failed}};
    const auto expects =
        std::find_if(outlooks.begin(), outlooks.end(),
                     [&name = name](const auto& outlook) { return outlook.study == name; });
    if (expects != outlooks.end()) {
      one["planned"] = expects->planned;
      one["at_most"] = expects->at_most;
      if (progress.running > 0) {
        if (const auto left = remaining(progress, *expects)) one["remaining_s"] = *left;
      }
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace lockstep::serve
