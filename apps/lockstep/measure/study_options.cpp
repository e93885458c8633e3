#include "measure/study_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>

#include "lockstep/base/text/quantities.h"
#include "measure/launcher_options.h"
#include "train_options.h"

namespace lockstep::cli {
namespace {

/// What a study decides for each run itself, or what would be overwritten by the next.
constexpr std::string_view kNotForStudies[] = {
    "RECIPE",   "--batch", "--workers", "--strategy", "--checkpoint", "--checkpoint-every",
    "--resume", "--trace", "--samples", "--save",     "--device",     "--threads"};

}  // namespace

void add_study_options(CLI::App& command, study::StudyRequest& request) {
  command.add_option("what", request.what, "Recipe to train (default fashion), or a plan file")
      ->type_name("RECIPE|PLAN.toml");
  const std::string group = "Study";
  const auto add = [&](const char* names, auto& field, const char* type, const std::string& text) {
    return command.add_option(names, field, text)->type_name(type)->group(group);
  };
  add("-n,--workers", request.workers, "N,N,...",
      "Worker counts to try (default: 1, 2, 4, ... up to the cores)");
  add("-b,--batch", request.batch, "b,b,...",
      "Batches per worker to try: weak scaling (default 128); 32..x4 tries 32, 128, 512, ... until "
      "memory runs out");
  add("--global-batch", request.global_batch, "B,B,...",
      "Global batches to try: strong scaling, b = B/N");
  add("--strategy", request.strategy, "NAME,...",
      fmt::format("Strategies to try: {} (default overlap)",
                  fmt::join(record::names_of<record::Strategy>(), ", ")));
  add("--threads", request.threads, "N,N,...",
      "Compute threads per worker to try (default: cores / the largest worker count); for a "
      "command, values of {threads} and OMP_NUM_THREADS");
  add("--repeat", request.repeat, "N", "Runs of each configuration")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  add("--order-seed", request.order_seed, "N",
      "Seed for the order of runs within a round of repeats")
      ->capture_default_str();
  add("--name", request.name, "NAME", "Name of the study (default: derived from the plan)");
  add("--device", request.devices, "NAME,...",
      "Devices to train on: cpu, cuda (default cpu); for a command, values of {device}");
  add("--pattern", request.pattern, "REGEX",
      "Regular expression with named groups that reads the output of a command, as in lockstep "
      "import");
  command
      .add_option_function<std::string>(
          "--time-limit",
          [&request](const std::string& text) {
            request.time_limit_s = parse_duration(text, "--time-limit");
          },
          "Stop a run of a command after this time, for example 30min")
      ->type_name("TIME")
      ->group(group);
  command
      .add_flag("--wall-time", request.wall_time,
                "Use the duration of the command as its total time; it need not print figures")
      ->group(group);
  command
      .add_flag_callback(
          "--no-watch", [&request] { request.watch = false; },
          "Do not measure PyTorch processes of a command from inside")
      ->group(group);
  command
      .add_flag("--show-output", request.show_output, "Show the output of the command on stderr")
      ->group(group);
  command.add_flag("--dry-run", request.dry_run, "Show the plan without running it")->group(group);
  command.add_flag("--retry-failed", request.retry_failed, "Retry runs that failed before")
      ->group(group);
  add_launcher_options(command, request.launcher);
  add_train_options(command, request.train, kNotForStudies);
}

}  // namespace lockstep::cli
