#include "lockstep/study/command/command_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "lockstep/base/units.h"
#include "lockstep/import/run_record.h"
#include "lockstep/import/run_settings.h"
#include "lockstep/measure/machine.h"
#include "lockstep/store/imports.h"
#include "lockstep/watch/rank_record.h"
#include "lockstep/watch/watched_events.h"

namespace lockstep::study {
namespace {

/// The format of a run whose output has no figures.
constexpr const char* kWallTime = "wall-time";

bool has_time(const import::ImportedRun& run) {
  bool any = run.epoch_s || run.total_s || run.reported_throughput || !run.step_time.empty() ||
             !run.throughput.empty();
  for (const record::EpochResult& epoch : run.epochs) {
    any = any || epoch.train_s > 0 || epoch.examples_per_s > 0;
  }
  return any;
}

/// The run of an output that describes one: the first that has a time, else the first with any
/// figure.
const import::ImportedRun* best_run(const import::ImportedFile& file) {
  const import::ImportedRun* found = nullptr;
  for (const import::ImportedRun& run : file.runs) {
    if (run.has_figures() && (!found || (!has_time(*found) && has_time(run)))) found = &run;
  }
  return found;
}

/// Whether the meter of this host saw all that the run used: it ran on one host, and its GPUs, if
/// any, can be read here.
bool is_metered(const CommandEnd& end, const watch::WatchedRun& watched) {
  if (end.energy == nullptr || watched.hosts.size() > 1) return false;
  const bool on_gpus = !watched.device.empty() && !watched.device.starts_with("cpu");
  return !on_gpus || end.energy->has_gpus() || !std::isfinite(watched.energy.total_j);
}

/// Where the device is not known, GPUs that the command may use are taken to be used.
bool uses_gpus(const measure::EnergySampler& energy, const std::string& device) {
  return device.empty() ? energy.has_gpus() : !device.starts_with("cpu");
}

std::string facts_of(const import::ImportedRun& run) {
  return import::describe(run).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string ForeignCommand::text() const {
  return fmt::format("{}", fmt::join(words, " "));
}

auto ForeignCommand::import_options(const PlannedRun& planned) const -> import::ImportOptions {
  std::map<std::string, std::string> known;
  if (planned.cell.workers > 0) known["workers"] = std::to_string(planned.cell.workers);
  if (planned.cell.batch_per_worker > 0) {
    known["batch"] = std::to_string(planned.cell.batch_per_worker);
  }
  if (values.nodes > 0) known["nodes"] = std::to_string(values.nodes);
  if (has_placeholder(words, "epochs")) known["epochs"] = std::to_string(values.epochs);
  if (!values.device.empty()) known["device"] = values.device;
  return {.format = "", .pattern = pattern, .settings = std::move(known), .use_file_name = false};
}

CommandRecord::CommandRecord(const ForeignCommand& command, const PlannedRun& planned,
                             store::RunLabel label, CommandOutput& output,
                             const ExecutorContext& context)
    : command_(command),
      planned_(planned),
      output_(output),
      context_(context),
      sink_(context.store_path, context.console, std::move(label), context.after_run) {}

void CommandRecord::begin(std::int64_t started_wall_ns, record::Launcher launcher,
                          double queue_wait_s) {
  record::RunSpec& spec = started_.spec;
  spec.recipe = command_.network;
  spec.workers = planned_.cell.workers;
  spec.threads_per_worker = command_.values.threads;
  spec.batch_per_worker = planned_.cell.batch_per_worker;
  // Without the placeholder the script decides, and how is not known yet.
  spec.epochs = has_placeholder(command_.words, "epochs") ? command_.values.epochs : 0;
  spec.device = command_.values.device;
  if (command_.values.nodes > 0) spec.nodes = command_.values.nodes;
  // What the program decides must not read as Lockstep's own defaults.
  spec.strategy = std::nullopt;
  spec.backend = std::nullopt;
  spec.augment = false;
  spec.command = command_.text();
  spec.launcher = launcher;
  spec.queue_wait_s = queue_wait_s;
  started_.machine = measure::describe_machine();
  started_.started_wall_ns = started_wall_ns;
  sink_.write(started_);
}

void CommandRecord::follow() {
  output_.latest();
  if (logs_epochs_) return;
  const auto& file = output_.latest_file();
  const import::ImportedRun* run = file ? best_run(*file) : nullptr;
  if (run == nullptr) return;
  // The last epoch may still get figures.
  for (std::size_t i = 0; i + 1 < run->epochs.size(); ++i) {
    if (run->epochs[i].epoch <= epochs_written_) continue;
    sink_.write(run->epochs[i]);
    epochs_written_ = run->epochs[i].epoch;
  }
}

const std::string& CommandRecord::follow_steps(watch::LiveSteps& steps) {
  constexpr Nanoseconds kInterval = 500'000'000;
  const Nanoseconds now = context_.clock.monotonic();
  if (now < look_at_steps_at_) return steps_text_;
  look_at_steps_at_ = now + kInterval;
  if (const auto progress = steps.poll()) {
    sink_.write(*progress);
    steps_text_ = watch::progress_text(*progress, steps.rate_unit());
  }
  for (const record::EpochResult& epoch : steps.logged_epochs()) {
    sink_.write(epoch);
    logs_epochs_ = true;
  }
  return steps_text_;
}

/// The run that the output describes, as the only one of its file; without figures one of the
/// format kWallTime that has only the facts of the plan.
auto CommandRecord::read_output() const -> import::ImportedFile {
  std::string ignored;
  std::optional<import::ImportedFile> file = output_.read(ignored);
  if (const import::ImportedRun* found = file ? best_run(*file) : nullptr) {
    file->runs = {*found};
    return *std::move(file);
  }
  import::ImportedFile nothing;
  nothing.format = kWallTime;
  import::ImportedRun& run = nothing.runs.emplace_back();
  run.format = kWallTime;
  for (const auto& [name, value] : command_.import_options(planned_).settings) {
    import::offer_setting(name, value, run, import::Provenance::kUser);
  }
  import::complete(run);
  return nothing;
}

void CommandRecord::complete(const CommandEnd& end, const import::ImportedFile& file) {
  import::ImportedRun run = file.runs.front();
  const bool stated = run.model && run.model.from <= import::Provenance::kLog;
  if (!stated) run.model = {command_.network, import::Provenance::kUser};
  if (!run.workers && run.is_training()) {
    run.workers = {1, import::Provenance::kUser};
    import::complete(run);
  }
  if (!run.total_s && (command_.wall_time || !has_time(run))) {
    run.total_s = end.seconds;
    run.notes["total_time"] = "whole run: duration of the command, start-up included";
  }
  if (started_.spec.queue_wait_s >= 0) run.queue_wait_s = started_.spec.queue_wait_s;
  import::RunRecord record = import::to_record(run, output_.path().string());
  store::ImportedRecord out;
  // Two runs may write the same text.
  out.source = {file.digest, fmt::format("run {}", sink_.run_id()), output_.path().string(),
                file.format, facts_of(run)};
  out.started = std::move(record.started);
  out.started.machine = started_.machine;
  out.started.started_wall_ns = started_.started_wall_ns;
  out.started.spec.command = started_.spec.command;
  out.started.spec.launcher = started_.spec.launcher;
  out.started.spec.queue_wait_s = started_.spec.queue_wait_s;
  if (command_.values.nodes > 0) out.started.spec.nodes = command_.values.nodes;
  out.started.spec.threads_per_worker = command_.values.threads;
  out.epochs = std::move(record.epochs);
  out.steps = std::move(record.steps);
  out.measurements = std::move(record.measurements);
  const record::RunEnded last = ended(end, record::RunStatus::kDone);
  for (record::Measurement& row : out.measurements) row.disturbed = record::disturbance(last);
  if (!out.measurements.empty() && std::isfinite(last.energy_j)) {
    record::Measurement row = out.measurements.front();
    row.metric = "energy";
    row.value = last.energy_j;
    row.unit = "J";
    row.epoch.reset();
    row.warm_up = row.contains_warm_up = false;
    out.measurements.push_back(std::move(row));
  }
  if (run.epochs.size() == 1) {
    for (record::Measurement& row : out.measurements) {
      const bool timed = row.metric == "epoch_time" || row.metric == "throughput";
      if (timed) row.contains_warm_up = true;
    }
  }
  store::complete_import(context_.store_path, sink_.run_id(), out);
}

/// Times come from the watcher, as of Lockstep's own trainer; the output adds what it states of
/// model and data, losses and accuracies.
void CommandRecord::complete_watched(const CommandEnd& end, const watch::WatchedRun& watched,
                                     const import::ImportedRun& read) {
  record::RunStarted facts = started_;
  if (end.enough_steps) facts.spec.max_steps = command_.max_steps;
  if (read.model && read.model.from <= import::Provenance::kLog) facts.spec.recipe = *read.model;
  if (read.dataset) facts.spec.data.name = *read.dataset;
  watch::describe(watched, facts);
  // On GPUs idle threads of the host do no harm.
  const bool here = facts.spec.launcher == record::Launcher::kLocal && watched.device == "cpu";
  const int cores = started_.machine.cores;
  if (here && cores > 0 && watched.threads_per_worker * watched.workers > cores) {
    facts.spec.oversubscribed = true;
  }
  const int planned = planned_.cell.workers;
  if (planned > 0 && watched.workers != planned) {
    context_.console.err(
        fmt::format("warning: the command trained with {}, not with the {} of the plan; the run is "
                    "recorded with {}",
                    counted(watched.workers, "worker"), planned, watched.workers));
  }
  const std::int64_t batch = planned_.cell.batch_per_worker;
  if (batch > 0 && facts.spec.batch_per_worker != batch) {
    context_.console.err(fmt::format(
        "warning: the command trained with batches of {} per worker, not with the {} of the plan; "
        "the run is recorded with {}",
        facts.spec.batch_per_worker, batch, facts.spec.batch_per_worker));
  }
  const int epochs = started_.spec.epochs;
  if (!end.clean && epochs > 0) facts.spec.epochs = epochs;
  if (epochs > 0 && facts.spec.epochs != epochs) {
    context_.console.err(fmt::format(
        "warning: the command trained {}, not the {} of the plan; the run is recorded with {}",
        counted(facts.spec.epochs, "epoch"), epochs, facts.spec.epochs));
  }
  started_.spec.device = facts.spec.device;
  store::update_facts(context_.store_path, sink_.run_id(), facts);
  for (const record::Event& event : watch::events(watched, read.epochs)) sink_.write(event);
}

/// What the training steps of each epoch used. Without a meter that saw all hosts and their GPUs,
/// ranks have read the counters of theirs.
void CommandRecord::add_energy(const CommandEnd& end, watch::WatchedRun& watched) {
  if (watched.steps.empty()) return;
  if (!is_metered(end, watched)) {
    ranks_energy_ = watched.energy;
    for (record::EpochResult& epoch : watched.epochs) {
      const auto used = watched.energy.epochs_j.find(epoch.epoch);
      if (used != watched.energy.epochs_j.end()) epoch.metrics["energy_j"] = used->second;
    }
    return;
  }
  // Steps are on the clock of this host.
  std::map<int, std::pair<Nanoseconds, Nanoseconds>> spans;
  for (const record::StepTimes& step : watched.steps) {
    const Nanoseconds ended = step.start_ns + std::llround(step.total_s * 1e9);
    auto& span = spans.try_emplace(step.epoch, step.start_ns, ended).first->second;
    span.first = std::min(span.first, step.start_ns);
    span.second = std::max(span.second, ended);
  }
  const bool gpus = uses_gpus(*end.energy, watched.device);
  for (record::EpochResult& epoch : watched.epochs) {
    const auto& [from, to] = spans[epoch.epoch];
    if (const auto used = end.energy->between(from, to, gpus)) epoch.metrics["energy_j"] = *used;
  }
}

record::RunEnded CommandRecord::ended(const CommandEnd& end, record::RunStatus status) const {
  record::RunEnded ended;
  ended.status = status;
  ended.ended_wall_ns = started_.started_wall_ns + static_cast<std::int64_t>(end.seconds * 1e9);
  ended.total_s = end.seconds;
  ended.peak_memory_bytes = end.peak_memory_bytes;
  ended.others_cpu = end.others_cpu;
  if (ranks_energy_) {
    ended.energy_j = ranks_energy_->total_j;
    ended.energy_source = ranks_energy_->source;
  } else if (end.energy == nullptr) {
    ended.energy_source = "not measured: the command ran on other hosts and was not watched";
  } else {
    const bool gpus = uses_gpus(*end.energy, started_.spec.device);
    ended.energy_j = end.energy->total(gpus).value_or(record::kUnknown);
    ended.energy_source = end.energy->source(gpus);
  }
  return ended;
}

ExecutedRun CommandRecord::fail(const CommandEnd& end, RunEnd kind, const std::string& problem) {
  const ErrorKind error = kind == RunEnd::kOutOfMemory ? ErrorKind::kMemory : ErrorKind::kWorker;
  sink_.write(record::WorkerError{0, std::string(kind_name(error)), problem,
                                  "its output is kept in " + output_.path().string()});
  sink_.write(ended(end, record::RunStatus::kFailed));
  sink_.check();
  return {kind, problem};
}

watch::WatchedRun CommandRecord::read_watched(const CommandEnd& end,
                                              const import::ImportedRun& read) {
  if (end.records.empty()) return {};
  watch::RunRecords records = watch::read_run_records(end.records);
  // Of other programs nothing was to be expected.
  if (!records.framework_imported && !runs_python(command_.words)) return {};
  if (command_.max_steps > 0) watch::keep_first_steps(records, command_.max_steps);
  const bool whole = end.clean && !end.enough_steps;
  const auto printed = whole ? read.epochs : std::vector<record::EpochResult>{};
  watch::WatchedRun watched = watch::merge_ranks(std::move(records), printed);
  // A run that failed before its first step has a better reason than any of these.
  const bool say = end.clean || !watched.steps.empty();
  for (const std::string& note : watched.notes) {
    if (say) context_.console.err("note: " + note);
  }
  add_energy(end, watched);
  return watched;
}

ExecutedRun CommandRecord::finish(const CommandEnd& end) {
  const import::ImportedFile file = read_output();
  const watch::WatchedRun watched = read_watched(end, file.runs.front());
  // What was measured before a run broke off often shows why.
  if (!end.clean && !watched.steps.empty()) complete_watched(end, watched, file.runs.front());
  if (end.interrupted) {
    sink_.write(ended(end, record::RunStatus::kInterrupted));
    return {RunEnd::kInterrupted, ""};
  }
  if (!end.clean) {
    return output_.out_of_memory()
               ? fail(end, RunEnd::kOutOfMemory, "the command ran out of memory")
               : fail(end, RunEnd::kFailed, end.problem);
  }
  has_figures_ = file.format != kWallTime || !watched.steps.empty();
  if (!has_figures_ && output_.out_of_memory()) {
    return fail(end, RunEnd::kOutOfMemory, "the command ran out of memory");
  }
  if (watched.steps.empty()) {
    complete(end, file);
  } else {
    complete_watched(end, watched, file.runs.front());
  }
  record::RunEnded last = ended(end, record::RunStatus::kDone);
  last.peak_memory_bytes = std::max(last.peak_memory_bytes, watched.peak_memory_bytes);
  sink_.write(last);
  sink_.check();
  return {RunEnd::kDone, ""};
}

}  // namespace lockstep::study
