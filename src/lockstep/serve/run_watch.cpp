#include "lockstep/serve/run_watch.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "lockstep/base/units.h"
#include "lockstep/serve/study_progress.h"

namespace lockstep::serve {
namespace {

using nlohmann::json;
using store::RunState;
using store::RunSummary;

/// A killed run is noticed by its lock, which no change of the file shows.
constexpr Nanoseconds kLookAnyway = 5'000'000'000;

json number(double value) {
  return std::isfinite(value) ? json(value) : json();
}

json epochs_json(const std::vector<record::EpochResult>& epochs) {
  json out = json::array();
  double elapsed = 0;
  for (const record::EpochResult& epoch : epochs) {
    elapsed += epoch.train_s + (std::isfinite(epoch.val_s) ? epoch.val_s : 0);
    out.push_back({epoch.epoch, number(epoch.train_loss), number(epoch.train_accuracy),
                   number(epoch.val_loss), number(epoch.val_accuracy), number(elapsed),
                   number(epoch.examples_per_s)});
  }
  return out;
}

json sample(const store::CurvePoint& point) {
  return {number(point.epochs), number(point.loss), number(point.examples_per_s)};
}

std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::vector<RunSummary> runs_of(const std::string& path, std::optional<store::Store>& store) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  store.emplace(path);
  return store->runs();
}

}  // namespace

struct RunWatch::Known {
  std::string told;  ///< last state that was sent
  std::int64_t started_wall_ns = 0;
  int epochs_done = -1;
  json epochs;
};

RunWatch::RunWatch(std::string store_path, const Clock& clock)
    : store_path_(std::move(store_path)), clock_(clock) {}
RunWatch::~RunWatch() = default;

json RunWatch::run_json(store::Store& store, const RunSummary& run, bool with_samples) {
  Known& known = known_[run.id];
  if (known.started_wall_ns != run.started_wall_ns) {
    // A run of the same number in a store that took the place of the old one is another run.
    Known fresh;
    fresh.told = std::move(known.told);
    fresh.started_wall_ns = run.started_wall_ns;
    known = std::move(fresh);
  }
  json out{{"id", run.id},
           {"study", run.label.study},
           {"cell", run.label.cell},
           {"repeat", run.label.repeat},
           {"state", store::state_name(run.state)},
           {"recipe", run.spec.recipe},
           {"data", run.spec.data.name},
           {"synthetic", run.spec.data.synthetic},
           {"device", run.spec.device},
           {"workers", run.spec.workers},
           {"batch", run.spec.batch_per_worker},
           {"global_batch", run.spec.global_batch()},
           {"strategy", record::name_of(run.spec.strategy)},
           {"started", run.started_wall_ns > 0 ? format_local_time(run.started_wall_ns) : ""},
           {"epochs", run.spec.epochs},
           {"epochs_done", run.epochs_done},
           {"examples_per_s", number(store::mean_rate(run))},
           {"val_accuracy", number(run.last_val_accuracy)},
           {"total_s", number(run.total_s)}};
  if (run.state != RunState::kRunning) return out;
  if (const auto ahead = outlook(run)) {
    out["fraction"] = ahead->fraction;
    if (ahead->remaining_s) out["remaining_s"] = *ahead->remaining_s;
  }
  if (run.progress) {
    out["examples_per_s"] = number(run.progress->examples_per_s);
    out["loss"] = number(run.progress->loss);
  }
  if (known.epochs_done != run.epochs_done) {
    known.epochs = epochs_json(store.load(run.id, store::Store::Steps::kNotCounted).epochs);
    known.epochs_done = run.epochs_done;
  }
  out["curve"] = known.epochs;
  if (with_samples) {
    json samples = json::array();
    for (const store::CurvePoint& point : store.curve(run.id)) samples.push_back(sample(point));
    out["samples"] = std::move(samples);
  } else if (run.progress) {
    out["sample"] = sample(store::curve_point(*run.progress));
  }
  return out;
}

std::string RunWatch::snapshot() {
  const std::lock_guard lock(mutex_);
  std::optional<store::Store> store;
  const std::vector<RunSummary> runs = runs_of(store_path_, store);
  json list = json::array();
  for (const RunSummary& run : runs) list.push_back(run_json(*store, run, true));
  return dumped({{"store", std::filesystem::path(store_path_).filename().string()},
                 {"runs", std::move(list)},
                 {"studies", studies_json(runs, store::study_outlooks(store_path_))}});
}

std::optional<std::string> RunWatch::changes() {
  const std::lock_guard lock(mutex_);
  std::string stamp = store_stamp(store_path_);
  const Nanoseconds now = clock_.monotonic();
  if (stamp == stamp_ && now - looked_at_ < kLookAnyway) return std::nullopt;
  std::optional<store::Store> store;
  const std::vector<RunSummary> runs = runs_of(store_path_, store);
  stamp_ = std::move(stamp);
  looked_at_ = now;
  json changed = json::array();
  std::set<std::int64_t> there;
  for (const RunSummary& run : runs) {
    there.insert(run.id);
    json one = run_json(*store, run, false);
    std::string text = dumped(one);
    Known& known = known_[run.id];
    if (text == known.told) continue;
    known.told = std::move(text);
    changed.push_back(std::move(one));
  }
  json removed = json::array();
  std::erase_if(known_, [&](const auto& entry) {
    const bool gone = there.count(entry.first) == 0;
    if (gone) removed.push_back(entry.first);
    return gone;
  });
  json studies = studies_json(runs, store::study_outlooks(store_path_));
  std::string studies_text = dumped(studies);
  if (changed.empty() && removed.empty() && studies_text == studies_) return std::nullopt;
  studies_ = std::move(studies_text);
  return dumped({{"runs", std::move(changed)},
                 {"removed", std::move(removed)},
                 {"studies", std::move(studies)}});
}

std::string store_stamp(const std::string& store_path) {
  std::string stamp;
  for (const char* suffix : {"", "-wal"}) {
    struct stat facts {};
    if (::stat((store_path + suffix).c_str(), &facts) != 0) continue;
    if (facts.st_size == 0) continue;  // a log comes and goes with every reader
    stamp += fmt::format("{} {} {}.{};", facts.st_ino, facts.st_size, facts.st_mtim.tv_sec,
                         facts.st_mtim.tv_nsec);
  }
  return stamp;
}

}  // namespace lockstep::serve
