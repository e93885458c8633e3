#include "lockstep/study/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "lockstep/base/error.h"
#include "lockstep/base/terminal/terminal.h"
#include "lockstep/base/units.h"
#include "lockstep/report/render/render.h"
#include "lockstep/store/study_outlook.h"
#include "lockstep/store/writer_lock.h"

namespace lockstep::study {
namespace {

std::vector<PlannedRun> planned(const std::vector<StudyRun>& runs) {
  std::vector<PlannedRun> plan;
  for (const StudyRun& run : runs) plan.push_back(run.planned);
  return plan;
}

}  // namespace

Runner::Runner(std::vector<StudyRun> runs, StudyOptions options, StudyResults results,
               Console& console, launch::SignalInbox& signals)
    : runs_(std::move(runs)),
      options_(std::move(options)),
      results_(std::move(results)),
      console_(console),
      signals_(signals),
      plan_(planned(runs_)),
      lines_(plan_) {}

void Runner::load() {
  std::error_code ignored;
  stored_.clear();
  if (std::filesystem::exists(options_.store_path, ignored)) {
    stored_ = store::Store(options_.store_path).runs();
  }
  std::vector<store::RunSummary> ours;
  for (const store::RunSummary& run : stored_) {
    if (run.label.study == options_.name) ours.push_back(run);
  }
  states_ = planned_states(plan_, ours);
}

bool Runner::is_due(std::size_t at) const {
  const PlannedState state = states_[at].state;
  if (state == PlannedState::kFailed) return options_.retry_failed;
  return state == PlannedState::kOpen && !is_beyond_reach(plan_, states_, at);
}

void Runner::say(const std::string& text) {
  if (options_.json) {
    console_.err(text);
  } else {
    console_.out(text);
  }
}

namespace {

bool has_ladder(std::span<const PlannedRun> plan) {
  return std::any_of(plan.begin(), plan.end(),
                     [](const PlannedRun& run) { return !run.ladder.empty(); });
}

std::optional<Seconds> estimate(const StudyRun& run, const std::vector<store::RunSummary>& stored) {
  std::vector<store::RunSummary> alike;
  for (const store::RunSummary& one : stored) {
    if (run.executor->resembles(one)) alike.push_back(one);
  }
  return estimate_run(run.planned.cell, run.executor->length(), alike);
}

}  // namespace

Runner::Expected Runner::expected(std::size_t from) const {
  Expected all;
  std::map<std::string, std::optional<Seconds>> known;
  Seconds total{0};
  bool every = true;
  for (std::size_t i = from; i < runs_.size(); ++i) {
    if (!is_due(i)) continue;
    ++all.due;
    const auto [entry, fresh] = known.try_emplace(runs_[i].planned.cell.name());
    if (fresh) entry->second = estimate(runs_[i], stored_);
    every &= entry->second.has_value();
    total += entry->second.value_or(Seconds{0});
  }
  if (every) all.duration = total;
  return all;
}

std::string Runner::time_left(std::size_t from) const {
  const Expected left = expected(from);
  if (left.due == 0) return "";
  if (!left.duration) return "duration unknown until the first run has finished";
  const bool ladder = has_ladder(std::span(plan_).subspan(from));
  return fmt::format("{} {} left", ladder ? "at most" : "about", format_seconds(*left.duration));
}

/// For observers of the store, such as lockstep serve.
void Runner::tell_outlook(std::size_t at) const {
  const auto seconds = [](const std::optional<Seconds>& duration) {
    return duration ? std::optional(duration->count()) : std::nullopt;
  };
  store::keep_study_outlook(
      options_.store_path,
      {options_.name, static_cast<std::int64_t>(runs_.size()), has_ladder(plan_),
       seconds(estimate(runs_[at], stored_)), seconds(expected(at + 1).duration)});
}

bool Runner::is_untried_rung(std::size_t at) const {
  return states_[at].state == PlannedState::kOpen &&
         std::any_of(plan_.begin(), plan_.end(),
                     [&](const PlannedRun& other) { return is_rung_below(other, plan_[at]); });
}

void Runner::show_plan() {
  std::vector<PlanRow> rows;
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (is_untried_rung(i)) continue;
    const auto [place, fresh] = places.try_emplace(plan_[i].cell.name(), rows.size());
    if (fresh) {
      rows.push_back(
          {plan_[i].cell, runs_[i].executor->title(), 0, 0, 0, 0, estimate(runs_[i], stored_)});
    }
    PlanRow& row = rows[place->second];
    ++row.runs;
    row.done += states_[i].state == PlannedState::kDone;
    row.failed += states_[i].state == PlannedState::kFailed;
    row.out_of_memory += states_[i].state == PlannedState::kOutOfMemory;
  }
  report::Table table = plan_table(rows);
  const Counts now = counts();
  const bool ladder = has_ladder(plan_);
  table.title = fmt::format("study {}: {}{} runs, {} done", options_.name, ladder ? "at most " : "",
                            runs_.size(), now.done);
  if (const std::string left = time_left(0); !left.empty()) table.title += ", " + left;
  if (!options_.warm_up.empty()) table.notes.push_back(options_.warm_up);
  if (!options_.memory.empty()) table.notes.push_back(options_.memory);
  if (ladder) {
    table.notes.push_back(
        "ladder: the batch grows until one does not fit; only batches already tried and the first "
        "one are listed.");
  }
  const bool json = options_.json && options_.dry_run;
  const std::string text = report::render(
      table, json ? report::Format::kJson : report::Format::kText, {.width = terminal_width()});
  if (json) {
    console_.out(text);
  } else {
    say(text);
  }
}

Runner::Counts Runner::counts() const {
  Counts counts;
  for (const StoredState& one : states_) {
    counts.done += one.state == PlannedState::kDone;
    counts.failed += one.state == PlannedState::kFailed;
    counts.out_of_memory += one.state == PlannedState::kOutOfMemory;
  }
  return counts;
}

std::string Runner::line(std::size_t at, const std::string& status) {
  RunFigures figures;
  if (states_[at].state == PlannedState::kDone) {
    figures = run_figures(results_.measurements(states_[at].run));
  }
  return lines_.line(at + 1, runs_.size(), plan_[at], figures, status);
}

void Runner::carry_out(std::size_t at) {
  const store::RunLabel label{options_.name, plan_[at].cell.name(), plan_[at].repeat};
  const ExecutedRun executed =
      runs_[at].executor->run(plan_[at], label, fmt::format("[{}/{}] ", at + 1, runs_.size()));
  load();
  switch (executed.end) {
    case RunEnd::kDone: {
      const std::string left = time_left(at + 1);
      say(line(at, "done" + (left.empty() ? "" : "; " + left)));
      return;
    }
    case RunEnd::kOutOfMemory:
      say(line(at, "out of memory: " + executed.problem));
      return;
    case RunEnd::kFailed:
      say(line(at, "failed: " + executed.problem));
      end_if_all_fail(at, executed.problem);
      return;
    case RunEnd::kInterrupted:
      stop();
  }
}

/// A script that cannot even start fails in the same way whatever the configuration.
void Runner::end_if_all_fail(std::size_t at, const std::string& problem) {
  constexpr std::size_t kTries = 3;
  problems_.push_back(problem);
  const bool alike = std::all_of(problems_.begin(), problems_.end(),
                                 [&](const std::string& one) { return one == problem; });
  const Counts now = counts();
  const std::int64_t due = expected(at + 1).due;
  if (now.done + now.out_of_memory > 0 || problems_.size() < kTries || !alike || due == 0) return;
  stop_executors();
  throw Error(ErrorKind::kWorker,
              fmt::format("the first {} runs failed in the same way, and {} not tried: {}",
                          problems_.size(), counted(due, "more was", "more were"), problem),
              "lockstep runs show ID prints the path of a run's output; fix the cause and run the "
              "same command again with --retry-failed");
}

/// Passes every executor its runs ahead of time.
void Runner::prepare() {
  std::map<Executor*, std::vector<PlannedRun>> due;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (is_due(i)) due[runs_[i].executor].push_back(plan_[i]);
  }
  for (const auto& [executor, planned] : due) executor->prepare(planned, options_.name);
}

void Runner::stop_executors() {
  std::set<Executor*> executors;
  for (const StudyRun& run : runs_) executors.insert(run.executor);
  for (Executor* executor : executors) executor->stop();
}

void Runner::stop() {
  stop_executors();
  throw Error(
      ErrorKind::kInterrupted,
      fmt::format("the study was interrupted; {} of {} runs are done", counts().done, runs_.size()),
      "run the same command again to continue");
}

void Runner::carry_out() {
  bool header = false;
  prepare();
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (!is_due(i)) continue;
    if (!header) say(lines_.header());
    header = true;
    if (signals_.take_stop_requests() > 0) stop();
    tell_outlook(i);
    carry_out(i);
  }
}

void Runner::show_report() {
  store::Store store(options_.store_path);
  store::RunFilter ours;
  ours.study = options_.name;
  if (const std::int64_t others = unplanned_runs(plan_, store.runs(ours)); others > 0) {
    console_.err(
        fmt::format("note: study {} also has {} of another plan; the tables "
                    "include them (--name separates studies)",
                    options_.name, counted(others, "finished run")));
  }
  console_.out((options_.json ? "" : "\n") + results_.report());
}

/// Of the largest run that is due: it asks for most.
void Runner::show_preview() {
  if (options_.json) return;
  std::optional<std::size_t> largest;
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const bool larger = !largest || plan_[i].cell.workers > plan_[*largest].cell.workers;
    if (is_due(i) && larger) largest = i;
  }
  if (!largest) return;
  const std::string text = runs_[*largest].executor->preview(plan_[*largest], options_.name);
  if (!text.empty()) say("\n" + text);
}

void Runner::show_ladders() {
  for (const std::string& sentence : ladder_sentences(plan_, states_)) say(sentence);
}

void Runner::run() {
  if (options_.dry_run) {
    load();
    show_plan();
    show_preview();
    return;
  }
  const std::int64_t position = lock_position(options_.name);
  if (store::has_writer(options_.store_path, position)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("another process is running study {} in {}", options_.name,
                            options_.store_path),
                "wait for it, or give this study another --name");
  }
  const store::WriterLock lock(options_.store_path, position);
  load();
  show_plan();
  carry_out();
  const Counts now = counts();
  if (now.done > 0) show_report();
  show_ladders();
  if (now.failed == 0) return;
  throw Error(
      ErrorKind::kWorker,
      fmt::format("{} of {} runs of study {} failed", now.failed, runs_.size(), options_.name),
      "lockstep runs show ID shows why; --retry-failed tries them again");
}

}  // namespace lockstep::study
