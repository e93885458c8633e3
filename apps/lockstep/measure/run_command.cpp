#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cmath>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>

#include "command_line/command.h"
#include "lockstep/analyze/steps/step_limit.h"
#include "lockstep/base/error.h"
#include "lockstep/base/terminal/terminal.h"
#include "lockstep/base/text/quantities.h"
#include "lockstep/collect/run_digests.h"
#include "lockstep/collect/stored_runs.h"
#include "lockstep/launch/cluster/slurm_job.h"
#include "lockstep/report/phase_table.h"
#include "lockstep/report/run_tables.h"
#include "lockstep/study/command/command_executor.h"

namespace lockstep::cli {
namespace {

struct RunRequest {
  int workers = 0;         ///< 0 = what the output states, else 1
  std::int64_t batch = 0;  ///< 0 = unknown
  study::CommandValues values;
  std::string name;
  std::string study;
  std::string pattern;
  double time_limit_s = 0;
  std::int64_t steps = 0;  ///< 0 = until the command ends
  bool watch = true;
};

void check_run(const RunRequest& request, const std::vector<std::string>& words) {
  if (words.empty()) {
    throw Error(ErrorKind::kUsage, "lockstep run needs a command",
                "write it after --: lockstep run -n 2 -- torchrun --nproc_per_node {workers} "
                "train.py");
  }
  for (const auto& [place, given, option] :
       {std::tuple{"workers", request.workers > 0, "-n"},
        {"workers_per_node", request.workers > 0, "-n"},
        {"batch", request.batch > 0, "--batch"},
        {"global_batch", request.workers > 0 && request.batch > 0, "-n and --batch"}}) {
    if (given || !study::has_placeholder(words, place)) continue;
    throw Error(ErrorKind::kUsage,
                fmt::format("the command contains {{{}}}, but its value was not given", place),
                fmt::format("add {}", option));
  }
  if (request.steps > 0 && !request.watch) {
    throw Error(ErrorKind::kUsage,
                "--steps cannot be combined with --no-watch: watching counts the steps",
                "omit --no-watch, or limit the steps with an option of the command");
  }
  study::check_command(words, {}, request.values);
}

study::ForeignCommand command_of(const RunRequest& request, const std::vector<std::string>& words) {
  study::ForeignCommand command;
  command.words = words;
  command.values = request.values;
  command.network = request.name.empty() ? study::script_name(words) : request.name;
  command.pattern = request.pattern;
  command.wall_time = true;
  command.watch = request.watch;
  command.max_steps = request.steps;
  if (request.time_limit_s > 0) command.time_limit = Seconds(request.time_limit_s);
  return command;
}

/// The place of the run in a study that it is added to.
store::RunLabel label_of(const RunRequest& request) {
  if (request.study.empty()) return {};
  return {request.study, fmt::format("workers={} batch={}", request.workers, request.batch), 0};
}

std::string status_text(const study::CommandOutcome& outcome) {
  switch (outcome.executed.end) {
    case study::RunEnd::kDone:
      return "done";
    case study::RunEnd::kOutOfMemory:
      return "out of memory";
    case study::RunEnd::kFailed:
      return "failed";
    case study::RunEnd::kInterrupted:
      return "interrupted";
  }
  return "";
}

int exit_code_of(const study::CommandOutcome& outcome) {
  if (outcome.executed.end == study::RunEnd::kInterrupted) return 130;
  if (outcome.timed_out) return exit_code(ErrorKind::kWorker);
  if (outcome.end.enough_steps) return 0;
  return outcome.status.signal != 0 ? 128 + outcome.status.signal : outcome.status.code;
}

void print_run_json(Console& console, const study::CommandOutcome& outcome) {
  nlohmann::json out{{"run", outcome.run},
                     {"status", status_text(outcome)},
                     {"exit_code", exit_code_of(outcome)},
                     {"seconds", outcome.end.seconds},
                     {"has_figures", outcome.has_figures},
                     {"output", outcome.output}};
  if (outcome.end.peak_memory_bytes > 0) {
    out["peak_memory_bytes"] = outcome.end.peak_memory_bytes;
  }
  console.out(out.dump(2));
}

/// Examples per second of all workers after the warm-up; empty where the batch is not known.
std::string rate_sentence(const analyze::StepBreakdown& steps, const record::RunSpec& spec) {
  const double step_s = steps.mean.step.count();
  if (spec.global_batch() == 0 || step_s <= 0) return "";
  const double rate = static_cast<double>(spec.global_batch()) / step_s;
  const std::string unit = spec.data.unit.empty() ? "examples" : spec.data.unit;
  return fmt::format("rate: {} {}/s with {} per step of all workers",
                     rate < 100 ? fmt::format("{:.3g}", rate) : format_count(std::llround(rate)),
                     unit, format_count(spec.global_batch()));
}

/// Where the time of the steps went, where they were watched; on stderr, as stdout is the
/// command's.
void print_steps(Console& console, const std::string& store_path, std::int64_t id) {
  store::Store store(store_path);
  const store::StoredRun run = store.load(id, store::Store::Steps::kNotCounted);
  const analyze::StepBreakdown steps = collect::step_breakdown(store, run);
  if (steps.ranks.empty()) return;
  console.err(report::render(report::phase_table(steps), report::Format::kText,
                             report::RenderOptions{.width = terminal_width()}));
  if (const std::string rate = rate_sentence(steps, run.started.spec); !rate.empty()) {
    console.err(rate);
  }
  if (const std::string slowest = report::slowest_rank_sentence(steps); !slowest.empty()) {
    console.err(slowest);
  }
  console.err(analyze::limit_sentence(steps, collect::run_facts(run.started)));
  if (run.epochs.empty()) return;
  const std::string noise =
      report::noise_scale_sentence(run.epochs.back(), run.started.spec.global_batch());
  if (!noise.empty()) console.err(noise);
}

void print_run_text(Console& console, const std::string& store_path,
                    const study::CommandOutcome& outcome) {
  std::string text =
      fmt::format("run {} in {}: {} after {}", outcome.run, store_path, status_text(outcome),
                  format_seconds(Seconds(outcome.end.seconds)));
  if (const auto bytes = outcome.end.peak_memory_bytes; bytes > 0) {
    text +=
        fmt::format(", largest process {}", format_bytes(Bytes{static_cast<std::uint64_t>(bytes)}));
  }
  if (outcome.end.enough_steps) {
    text += ", ended by --steps (a Python script reports a KeyboardInterrupt)";
  }
  if (!outcome.executed.problem.empty()) text += "; " + outcome.executed.problem;
  console.err(text + "; output in " + outcome.output);
  const bool done = outcome.executed.end == study::RunEnd::kDone;
  print_steps(console, store_path, outcome.run);
  if (done && !outcome.has_figures) {
    console.err(
        "note: no figures were recognised in the output; --pattern reads figures of any form");
  }
}

void run_once(const RunRequest& request, const GlobalOptions& global) {
  check_run(request, global.after_dashes);
  std::signal(SIGPIPE, SIG_IGN);
  const SystemClock clock;
  Console console(clock);
  launch::SignalInbox signals;
  const study::ExecutorContext context{
      global.store_path,
      console,
      signals,
      clock,
      [](const std::string&) { return std::unique_ptr<record::RunSink>(); },
      collect::keep_digest};
  const study::ForeignCommand command = command_of(request, global.after_dashes);
  study::PlannedRun planned;
  planned.cell.workers = request.workers;
  planned.cell.batch_per_worker = request.batch;
  const std::string output = fmt::format("{}-output/runs/{}-{}.log", global.store_path,
                                         launch::file_name_of(command.network), clock.wall());
  const study::CommandOutcome outcome =
      study::run_command(command, planned, label_of(request), output, context, "",
                         [&](std::string_view line, bool error) {
                           if (error || global.json) {
                             console.err(line);
                           } else {
                             console.out(line);
                           }
                         });
  if (global.json) {
    print_run_json(console, outcome);
  } else {
    print_run_text(console, global.store_path, outcome);
  }
  if (const int code = exit_code_of(outcome); code != 0) throw CommandExit{code};
}

}  // namespace

void add_run_command(CLI::App& app, const GlobalOptions& global) {
  const auto request = std::make_shared<RunRequest>();
  CLI::App& command = add_command(
      app, "run",
      "Runs any training command once and measures it. Stores its output and the figures in it, "
      "time, memory, machine and exit code. Exits with the exit code of the command.",
      {"lockstep run -n 4 -- torchrun --nproc_per_node {workers} train.py --lr 0.1",
       "lockstep run -n 2 -b 64 --study mnist -- mpirun -np {workers} ./train --batch {batch}",
       "lockstep run -- python train.py"});
  const auto add = [&](const char* names, auto& field, const char* type, const char* text) {
    return command.add_option(names, field, text)->type_name(type);
  };
  add("-n,--workers", request->workers, "N",
      "Workers that the command starts (default: as stated in its output, otherwise 1)")
      ->check(CLI::Range(1, 65'536));
  add("-b,--batch", request->batch, "b", "Batch per worker, if the output does not state it")
      ->check(CLI::Range(1, 1 << 24));
  add("--epochs", request->values.epochs, "N", "Value of {epochs} in the command")
      ->capture_default_str();
  add("--seed", request->values.seed, "N", "Value of {seed} in the command")->capture_default_str();
  add("--device", request->values.device, "NAME",
      "Device of the workers, and value of {device} in the command");
  add("--name", request->name, "NAME",
      "Model name, if the output states none (default: name of the script)");
  add("--study", request->study, "NAME", "Store the run in this study");
  add("--pattern", request->pattern, "REGEX",
      "Regular expression with named groups that reads the output, as in lockstep import");
  command
      .add_option_function<std::string>(
          "--time-limit",
          [request](const std::string& text) {
            request->time_limit_s = parse_duration(text, "--time-limit");
          },
          "Stop the command after this time, for example 30min")
      ->type_name("TIME");
  add("--steps", request->steps, "N",
      "End the command after N steps (default: when it ends by itself); not with --no-watch")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command.add_flag_callback(
      "--no-watch", [request] { request->watch = false; },
      "Do not measure PyTorch processes from inside");
  set_action(command, [request, &global] { run_once(*request, global); });
}

}  // namespace lockstep::cli
