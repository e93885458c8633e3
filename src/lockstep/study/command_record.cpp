#include "lockstep/study/command_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

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

void CommandRecord::begin(std::int64_t started_wall_ns, const std::string& launcher,
                          double queue_wait_s) {
  record::RunSpec& spec = started_.spec;
  spec.recipe = command_.network;
  spec.workers = planned_.cell.workers;
  spec.threads_per_worker = 0;
  spec.batch_per_worker = planned_.cell.batch_per_worker;
  spec.epochs = command_.values.epochs;
  spec.device = command_.values.device;
  if (command_.values.nodes > 0) spec.nodes = command_.values.nodes;
  // What the program decides must not read as Lockstep's own defaults.
  spec.strategy = std::nullopt;
  spec.backend = "";
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
  out.epochs = std::move(record.epochs);
  out.steps = std::move(record.steps);
  out.measurements = std::move(record.measurements);
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
void CommandRecord::complete_watched(const watch::WatchedRun& watched,
                                     const import::ImportedRun& read) {
  record::RunStarted facts = started_;
  if (read.model && read.model.from <= import::Provenance::kLog) facts.spec.recipe = *read.model;
  if (read.dataset) facts.spec.data.name = *read.dataset;
  if (!has_placeholder(command_.words, "epochs")) facts.spec.epochs = 0;
  watch::describe(watched, facts);
  const int planned = planned_.cell.workers;
  if (planned > 0 && watched.workers != planned) {
    context_.console.err(fmt::format(
        "warning: the command trained with {} workers, not with the {} of the plan; the run is "
        "recorded with {}",
        watched.workers, planned, watched.workers));
  }
  store::update_facts(context_.store_path, sink_.run_id(), facts);
  for (const record::Event& event : watch::events(watched, read.epochs)) sink_.write(event);
}

record::RunEnded CommandRecord::ended(const CommandEnd& end, record::RunStatus status) const {
  record::RunEnded ended;
  ended.status = status;
  ended.ended_wall_ns = started_.started_wall_ns + static_cast<std::int64_t>(end.seconds * 1e9);
  ended.total_s = end.seconds;
  ended.peak_memory_bytes = end.peak_memory_bytes;
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

ExecutedRun CommandRecord::finish(const CommandEnd& end) {
  if (end.interrupted) {
    sink_.write(ended(end, record::RunStatus::kInterrupted));
    return {RunEnd::kInterrupted, ""};
  }
  if (!end.clean) {
    return output_.out_of_memory()
               ? fail(end, RunEnd::kOutOfMemory, "the command ran out of memory")
               : fail(end, RunEnd::kFailed, end.problem);
  }
  const import::ImportedFile file = read_output();
  watch::WatchedRun watched;
  if (!end.records.empty()) {
    watch::RunRecords records = watch::read_run_records(end.records);
    // Of a program without PyTorch nothing was to be expected.
    if (records.torch_imported) watched = watch::merge_ranks(std::move(records));
  }
  has_figures_ = file.format != kWallTime || !watched.steps.empty();
  if (!has_figures_ && output_.out_of_memory()) {
    return fail(end, RunEnd::kOutOfMemory, "the command ran out of memory");
  }
  for (const std::string& note : watched.notes) context_.console.err("note: " + note);
  if (watched.steps.empty()) {
    complete(end, file);
  } else {
    complete_watched(watched, file.runs.front());
  }
  record::RunEnded last = ended(end, record::RunStatus::kDone);
  last.peak_memory_bytes = std::max(last.peak_memory_bytes, watched.peak_memory_bytes);
  sink_.write(last);
  sink_.check();
  return {RunEnd::kDone, ""};
}

}  // namespace lockstep::study
