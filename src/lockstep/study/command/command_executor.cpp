#include "lockstep/study/command/command_executor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <filesystem>
#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/launch/cluster/slurm_job.h"
#include "lockstep/launch/process/free_port.h"
#include "lockstep/measure/others_share.h"
#include "lockstep/measure/process_tree.h"
#include "lockstep/study/command/command_environment.h"

namespace lockstep::study {
namespace {

/// How long a command may stay after it reported that memory ran out: other ranks often hang then.
constexpr Seconds kAfterOutOfMemory{30};

/// STORE-output/STUDY/n2-b32-0123456789abcdef-r1.log
std::string output_path(const std::string& store_path, const store::RunLabel& label,
                        const PlannedRun& planned) {
  const auto folder =
      std::filesystem::path(store_path + "-output") / launch::file_name_of(label.study);
  return folder / fmt::format("n{}-b{}-{}-r{}.log", planned.cell.workers,
                              planned.cell.batch_per_worker, planned.cell.digest, planned.repeat);
}

std::string how_it_ended(const launch::ExitStatus& status, const std::string& reason) {
  const std::string text = status.signal != 0
                               ? fmt::format("the command was killed by signal {} ({})",
                                             status.signal, ::strsignal(status.signal))
                               : fmt::format("the command ended with exit code {}", status.code);
  return reason.empty() ? text : text + "; " + reason;
}

launch::ProcessSpec process_of(const ForeignCommand& command, const PlannedRun& planned,
                               const watch::WatchFolder* watching) {
  CommandValues values = command.values;
  values.nodes = 1;
  values.workers_per_node = planned.cell.workers;
  values.master_address = "127.0.0.1";
  if (has_placeholder(command.words, "master_port")) {
    values.master_port = std::to_string(launch::free_port());
  }
  const std::vector<std::string> words = expand_command(command.words, planned, values);
  launch::ProcessSpec spec;
  spec.program = words.front();
  if (!launch::find_program(spec.program)) {
    std::error_code ignored;
    if (std::filesystem::exists(spec.program, ignored)) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("{} is not an executable program", spec.program),
                  "make it one (chmod +x), or name its interpreter: -- python train.py");
    }
    throw Error(ErrorKind::kEnvironment, fmt::format("program {} was not found", spec.program),
                "check its name and PATH");
  }
  spec.arguments.assign(words.begin() + 1, words.end());
  if (planned.cell.workers > 0) {
    spec.data_limit = command.memory_bytes / static_cast<std::uint64_t>(planned.cell.workers);
  }
  spec.separate_errors = true;
  spec.environment = command_environment(watching, planned.cell.workers, command.values.threads);
  return spec;
}

}  // namespace

CommandOutcome run_command(const ForeignCommand& command, const PlannedRun& planned,
                           const store::RunLabel& label, const std::string& output_path,
                           const ExecutorContext& context, const std::string& progress,
                           const LineSink& on_line) {
  std::optional<watch::WatchFolder> watching;
  if (command.watch) watching.emplace(watch::WatchFolder::temporary());
  const launch::ProcessSpec spec = process_of(command, planned, watching ? &*watching : nullptr);
  const import::Importer importer(command.import_options(planned));
  CommandOutput output(output_path, importer, context.clock);
  CommandRecord record(command, planned, label, output, context);
  std::string steps_text;
  const auto take = [&](std::string_view line, bool error) {
    const bool out_of_memory = output.add(line);
    on_line(line, error);
    record.follow();
    if (context.console.terminal() && steps_text.empty()) {
      const std::string& latest = output.latest();
      context.console.set_status(progress + (latest.empty() ? std::string(line) : latest));
    }
    return out_of_memory ? launch::AfterLine::kEndSoon : launch::AfterLine::kGoOn;
  };
  std::optional<watch::LiveSteps> steps;
  if (watching) steps.emplace(watching->records());
  const auto look_at_steps = [&] {
    if (!steps) return false;
    const std::string& text = record.follow_steps(*steps);
    if (text != steps_text) {
      steps_text = text;
      context.console.set_status(progress + text);
    }
    return command.max_steps > 0 && steps->steps() >= command.max_steps;
  };
  launch::StreamLimits limits;
  limits.run = command.time_limit;
  limits.patience = kAfterOutOfMemory;
  context.console.set_status(progress + launch::shell_text(spec));
  record.begin(context.clock.wall());
  const Nanoseconds began = context.clock.monotonic();
  const measure::TreeSampler memory;
  measure::EnergySampler energy(context.clock);
  const measure::OthersMeter others;
  const launch::StreamedOutcome streamed = launch::run_streamed(
      spec,
      launch::LineTakers{[&](std::string_view line) { return take(line, false); },
                         [&](std::string_view line) { return take(line, true); }, look_at_steps},
      context.signals, context.clock, limits);
  context.console.clear_status();
  CommandOutcome outcome;
  outcome.status = streamed.status;
  outcome.timed_out = streamed.timed_out;
  outcome.output = output_path;
  CommandEnd& end = outcome.end;
  end.seconds = static_cast<double>(context.clock.monotonic() - began) * 1e-9;
  end.enough_steps = streamed.enough && !streamed.stop_requested;
  end.clean = (streamed.status.clean() || end.enough_steps) && !streamed.timed_out;
  end.interrupted = streamed.stop_requested;
  end.problem = streamed.timed_out ? fmt::format("the command was stopped after {} (--time-limit)",
                                                 format_seconds(*command.time_limit))
                                   : how_it_ended(streamed.status, output.failure());
  end.peak_memory_bytes = memory.largest_bytes();
  end.energy = &energy;
  end.others_cpu = others.share().value_or(record::kUnknown);
  if (watching) end.records = watching->records().string();
  outcome.executed = record.finish(end);
  end.energy = nullptr;
  outcome.run = record.run_id();
  outcome.has_figures = record.has_figures();
  return outcome;
}

CommandExecutor::CommandExecutor(ForeignCommand command, ExecutorContext context)
    : command_(std::move(command)), context_(std::move(context)) {
  const import::Importer checks_the_pattern(command_.import_options({}));
}

std::string CommandExecutor::title() const {
  return command_title(command_.words);
}

bool CommandExecutor::resembles(const store::RunSummary& run) const {
  return run.spec.command == command_.text() && run.spec.launcher == record::Launcher::kLocal;
}

ExecutedRun CommandExecutor::run(const PlannedRun& planned, const store::RunLabel& label,
                                 const std::string& progress) {
  const LineSink show = [&](std::string_view line, bool) {
    if (command_.show_output) context_.console.err(progress + std::string(line));
  };
  const CommandOutcome outcome =
      run_command(command_, planned, label, output_path(context_.store_path, label, planned),
                  context_, progress, show);
  const bool whole = outcome.executed.end == RunEnd::kDone && !outcome.has_figures;
  if (whole && !command_.wall_time && !std::exchange(noted_whole_runs_, true)) {
    context_.console.err(whole_run_note(command_.text(), outcome.output));
  }
  return outcome.executed;
}

std::string whole_run_note(const std::string& command, const std::string& output_path) {
  return fmt::format(
      "note: no figures were recognised in the output of '{}' ({}); runs are compared by the "
      "duration of the whole command. --pattern reads figures of any form",
      command, output_path);
}

}  // namespace lockstep::study
