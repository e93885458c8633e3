#include "study_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "command_output.h"
#include "lockstep/base/error.h"
#include "lockstep/import/run_record.h"
#include "lockstep/import/run_settings.h"
#include "lockstep/launch/streamed_process.h"
#include "lockstep/measure/machine.h"
#include "lockstep/store/imports.h"

namespace lockstep::cli {

/// One go at one run.
struct StudyProgram::Attempt {
  study::PlannedRun planned;
  store::RunLabel label;
  std::vector<std::string> words;
  std::int64_t started_wall_ns = 0;
  double seconds = 0;  ///< from its start to its end
  launch::StreamedOutcome outcome;

  std::int64_t ended_wall_ns() const {
    return started_wall_ns + static_cast<std::int64_t>(seconds * 1e9);
  }
  std::string shown() const { return fmt::format("{}", fmt::join(words, " ")); }
};

namespace {

/// How long a command may stay after it said that memory ran out: other ranks often hang then.
constexpr Seconds kAfterOutOfMemory{30};

/// STORE-output/STUDY/n2-b32-0123456789abcdef-r1.log
std::filesystem::path output_path(const std::string& store_path, const store::RunLabel& label,
                                  const study::PlannedRun& planned) {
  std::string study = label.study;
  for (char& c : study) {
    if (c == '/' || c == '.') c = '_';
  }
  return std::filesystem::path(store_path + "-output") / study /
         fmt::format("n{}-b{}-{}-r{}.log", planned.cell.workers, planned.cell.batch_per_worker,
                     planned.cell.digest, planned.repeat);
}

std::string how_it_ended(const launch::ExitStatus& status, const std::string& last_line) {
  const std::string text = status.signal != 0
                               ? fmt::format("the command was killed by signal {} ({})",
                                             status.signal, ::strsignal(status.signal))
                               : fmt::format("the command ended with exit code {}", status.code);
  return last_line.empty() ? text : text + "; its last line: " + last_line;
}

bool has_time(const import::ImportedRun& run) {
  bool any = run.epoch_s || run.total_s || run.reported_throughput || !run.step_time.empty() ||
             !run.throughput.empty();
  for (const record::EpochResult& epoch : run.epochs) {
    any = any || epoch.train_s > 0 || epoch.examples_per_s > 0;
  }
  return any;
}

record::WorkerError error_of(RunEnd end, const std::string& problem, const CommandOutput& output) {
  const ErrorKind kind = end == RunEnd::kOutOfMemory ? ErrorKind::kMemory : ErrorKind::kWorker;
  return {0, std::string(kind_name(kind)), problem,
          "its output is kept in " + output.path().string()};
}

}  // namespace

StudyProgram::StudyProgram(ForeignCommand command, std::string store_path, Console& console,
                           launch::SignalInbox& signals, const Clock& clock)
    : command_(std::move(command)),
      store_path_(std::move(store_path)),
      console_(console),
      signals_(signals),
      clock_(clock) {
  const import::Importer checks_the_pattern(import_options({}));
}

std::string StudyProgram::title() const {
  return study::command_title(command_.words);
}

bool StudyProgram::resembles(const store::RunSummary& run) const {
  return run.spec.command == fmt::format("{}", fmt::join(command_.words, " "));
}

import::ImportOptions StudyProgram::import_options(const study::PlannedRun& planned) const {
    import::ImportOptions options;
options.pattern = command_.pattern;
options.settings["workers"] = std::to_string(planned.cell.workers);
options.settings["batch"] = std::to_string(planned.cell.batch_per_worker);
if (study::has_placeholder(command_.words, "epochs")) {
  options.settings["epochs"] = std::to_string(command_.values.epochs);
}
if (!command_.values.device.empty()) options.settings["device"] = command_.values.device;
return options;
}  // namespace lockstep::cli

void StudyProgram::keep(const Attempt& attempt, const CommandOutput& output,
                        const import::ImportedFile& file, import::ImportedRun run) {
  if (!run.model) run.model.offer(title(), import::Provenance::kName);
  if (!run.total_s && (command_.wall_time || !has_time(run))) {
    run.total_s = attempt.seconds;
    run.notes["total_time"] = "duration of the command, start-up included";
  }
  import::RunRecord record = import::to_record(run, output.path().string());
  store::ImportedRecord out;
  // Two repeats may write the same text; the part tells them apart.
  out.source = {
      file.digest,
      fmt::format("{} {} {}", attempt.label.study, attempt.label.cell, attempt.label.repeat),
      output.path().string(), file.format,
      import::describe(run).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
  out.label = attempt.label;
  out.started = std::move(record.started);
  out.started.machine = measure::describe_machine();
  out.started.started_wall_ns = attempt.started_wall_ns;
  out.started.spec.command = fmt::format("{}", fmt::join(command_.words, " "));
  out.epochs = std::move(record.epochs);
  out.steps = std::move(record.steps);
  out.ended = record.ended;
  out.ended.status = record::RunStatus::kDone;
  out.ended.ended_wall_ns = attempt.ended_wall_ns();
  out.ended.total_s = attempt.seconds;
  out.measurements = std::move(record.measurements);
  if (run.epochs.size() == 1) {
    for (record::Measurement& row : out.measurements) {
      const bool timed = row.metric == "epoch_time" || row.metric == "throughput";
      if (timed) row.contains_warm_up = true;
    }
  }
  store::add_imports(store_path_, std::array{out}, true);
}

ExecutedRun StudyProgram::keep_failure(const Attempt& attempt, const CommandOutput& output,
                                       RunEnd end, const std::string& problem) {
  store::RunWriter writer(store_path_, attempt.label);
  record::RunStarted started;
  record::RunSpec& spec = started.spec;
  spec.recipe = title();
  spec.workers = attempt.planned.cell.workers;
  spec.batch_per_worker = attempt.planned.cell.batch_per_worker;
  spec.epochs = command_.values.epochs;
  spec.device = command_.values.device;
  spec.strategy = std::nullopt;
  spec.backend = "";
  spec.command = fmt::format("{}", fmt::join(command_.words, " "));
  started.machine = measure::describe_machine();
  started.started_wall_ns = attempt.started_wall_ns;
  writer.write(started);
  writer.write(error_of(end, problem, output));
  record::RunEnded ended;
  ended.status = record::RunStatus::kFailed;
  ended.ended_wall_ns = attempt.ended_wall_ns();
  ended.total_s = attempt.seconds;
  writer.write(ended);
  return {end, problem};
}

bool StudyProgram::execute(Attempt& attempt, CommandOutput& output, const std::string& progress) {
  launch::ProcessSpec spec;
  spec.program = attempt.words.front();
  spec.arguments.assign(attempt.words.begin() + 1, attempt.words.end());
  spec.data_limit =
      command_.memory_bytes / static_cast<std::uint64_t>(attempt.planned.cell.workers);
  // Interpreters keep lines back when they do not write to a terminal.
  spec.environment = {"PYTHONUNBUFFERED=1"};
  console_.set_status(progress + attempt.shown());
  launch::StreamLimits limits;
  limits.run = command_.time_limit;
  limits.patience = kAfterOutOfMemory;
  attempt.started_wall_ns = clock_.wall();
  const Nanoseconds began = clock_.monotonic();
  attempt.outcome = launch::run_streamed(
      spec,
      [&](std::string_view line) {
        const bool out_of_memory = output.add(line);
        if (command_.show_output) console_.err(progress + std::string(line));
        if (console_.terminal()) {
          const std::string& latest = output.latest();
          console_.set_status(progress + (latest.empty() ? std::string(line) : latest));
        }
        return out_of_memory ? launch::AfterLine::kEndSoon : launch::AfterLine::kGoOn;
      },
      signals_, clock_, limits);
  attempt.seconds = static_cast<double>(clock_.monotonic() - began) * 1e-9;
  console_.clear_status();
  return !attempt.outcome.stop_requested;
}

ExecutedRun StudyProgram::conclude(const Attempt& attempt, CommandOutput& output) {
  if (attempt.outcome.timed_out) {
    return keep_failure(attempt, output, RunEnd::kFailed,
                        fmt::format("the command was ended after {} (--time-limit)",
                                    format_seconds(*command_.time_limit)));
  }
  const bool clean = attempt.outcome.status.clean();
  if (!clean && output.out_of_memory()) {
    return keep_failure(attempt, output, RunEnd::kOutOfMemory, "the command ran out of memory");
  }
  if (!clean) {
    return keep_failure(attempt, output, RunEnd::kFailed,
                        how_it_ended(attempt.outcome.status, output.last_line()));
  }
  std::string problem;
  const std::optional<import::ImportedFile> file = output.read(problem);
  const import::ImportedRun* found = nullptr;
  for (std::size_t i = 0; file && i < file->runs.size() && !found; ++i) {
    if (file->runs[i].has_figures()) found = &file->runs[i];
  }
  if (found) {
    keep(attempt, output, *file, *found);
    return {RunEnd::kDone, ""};
  }
  if (output.out_of_memory()) {
    return keep_failure(attempt, output, RunEnd::kOutOfMemory, "the command ran out of memory");
  }
  if (command_.wall_time) {
    import::ImportedFile nothing;
    nothing.format = "wall-time";
    nothing.digest = fmt::format("{}", attempt.started_wall_ns);
    import::ImportedRun run;
    run.format = nothing.format;
    for (const auto& [name, value] : import_options(attempt.planned).settings) {
      import::offer_setting(name, value, run, import::Provenance::kUser);
    }
    import::complete(run);
    keep(attempt, output, nothing, std::move(run));
    return {RunEnd::kDone, ""};
  }
  throw Error(ErrorKind::kData,
              fmt::format("what '{}' wrote has no figure that lockstep can read", attempt.shown()),
              fmt::format("its output is kept in {}; say with --pattern where its figures stand, "
                          "or take the duration of the command with --wall-time; the same command "
                          "goes on from here",
                          output.path().string()));
}

ExecutedRun StudyProgram::run(const study::PlannedRun& planned, const store::RunLabel& label,
                              const std::string& progress) {
  Attempt attempt;
  attempt.planned = planned;
  attempt.label = label;
  attempt.words = study::expand_command(command_.words, planned, command_.values);
  const import::Importer importer(import_options(planned));
  CommandOutput output(output_path(store_path_, label, planned), importer, clock_);
  if (!execute(attempt, output, progress)) return {RunEnd::kInterrupted, ""};
  return conclude(attempt, output);
}

}  // namespace lockstep::cli
