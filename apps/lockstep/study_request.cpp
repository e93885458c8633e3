#include "study_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <optional>
#include <span>

#include "lockstep/base/digest.h"
#include "lockstep/base/error.h"
#include "lockstep/measure/machine.h"
#include "lockstep/study/command_template.h"
#include "quantities.h"
#include "train_options.h"
#include "training_run.h"

namespace lockstep::cli {
namespace {

constexpr std::int64_t kMostStudyWorkers = 65'536;
constexpr std::int64_t kLargestBatch = 1 << 24;
constexpr int kMostEpochs = 1'000'000;
constexpr int kStepsOfARung = 3;

/// What a study decides for each run itself, or what would be overwritten by the next.
constexpr const char* kNotForStudies[] = {
    "RECIPE",   "--batch", "--workers", "--strategy", "--checkpoint", "--checkpoint-every",
    "--resume", "--trace", "--samples", "--save",     "--device"};

std::vector<int> worker_counts(const StudyRequest& request) {
  std::vector<int> counts;
  for (const std::int64_t count :
       study::parse_counts(request.workers, "--workers", kMostStudyWorkers)) {
    counts.push_back(static_cast<int>(count));
  }
  return counts;
}

/// 1, 2, 4, ... up to the cores there are.
std::string default_workers(int cores) {
  std::vector<int> counts;
  for (int count = 1; count <= std::max(1, cores); count *= 2) counts.push_back(count);
  return fmt::format("{}", fmt::join(counts, ","));
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, "\n"));
}

/// All that decides what the runs do besides the axes of the grid.
std::string fixed_text(const StudyRequest& request) {
  if (request.is_foreign()) {
    const record::RunSpec& spec = request.train.spec;
    return fmt::format("command\n{}\nepochs={} seed={} device={} memory={}",
                       joined(request.command), spec.epochs, spec.seed, spec.device,
                       request.is_ladder() ? request.train.memory_bytes : 0);
  }
  record::TrainRequest common = request.train;
  const record::TrainRequest defaults;
  common.spec.workers = 0;
  common.spec.batch_per_worker = 0;
  common.spec.strategy = defaults.spec.strategy;
  common.spec.oversubscribed = false;
  common.timeout_s = defaults.timeout_s;
  common.heartbeat_s = defaults.heartbeat_s;
  // A limit decides which rungs of a ladder fit; of other runs only whether they fail.
  if (!request.is_ladder()) common.memory_bytes = 0;
  std::string text = joined(train_arguments(common));
  if (request.launcher.local()) return text;
  const launch::ClusterOptions& cluster = request.launcher.cluster;
  return text + joined({"\n" + request.launcher.launcher, cluster.partition, cluster.gres,
                        std::to_string(cluster.nodes)});
}

void complete_foreign(StudyRequest& request) {
  if (!request.what.empty()) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("a study trains the recipe {} or runs a command, not both", request.what),
        "leave the recipe out, or what follows --");
  }
  if (!request.strategy.empty()) {
    throw Error(ErrorKind::kUsage, "--strategy is of lockstep's own trainer, not of a command",
                "write the option of your program into the command");
  }
  if (request.train.spec.max_steps > 0) {
    throw Error(ErrorKind::kUsage, "--steps is of lockstep's own trainer, not of a command",
                "write the option of your program into the command");
  }
  if (request.train.spec.epochs == 0) request.train.spec.epochs = 1;
}

/// Words that only a command after "--" gives a meaning to.
void refuse_command_options(const StudyRequest& request) {
  for (const auto& [given, option] : {std::pair{!request.pattern.empty(), "--pattern"},
                                      {request.wall_time, "--wall-time"},
                                      {request.show_output, "--show-output"},
                                      {request.time_limit_s > 0, "--time-limit"}}) {
    if (!given) continue;
    throw Error(ErrorKind::kUsage,
                fmt::format("{} is for the output of a command, and there is none", option),
                "write the command after --");
  }
}

/// Throws kUsage for a name that is none. A foreign command has no strategy of ours.
std::vector<std::optional<record::Strategy>> strategies_of(const StudyRequest& request) {
  if (request.is_foreign()) return {std::nullopt};
  if (request.strategy.empty()) return {record::RunSpec().strategy};
  std::vector<std::optional<record::Strategy>> strategies;
  for (const std::string& name : study::parse_names(request.strategy, "--strategy")) {
    strategies.emplace_back(record::parse_choice<record::Strategy>("--strategy", name));
  }
  return strategies;
}

/// What the machine can give to all workers together without taking it from others.
std::uint64_t free_memory() {
  const std::int64_t available = measure::read_available_memory_bytes();
  const auto group = measure::read_group_limits().memory_bytes;
  return static_cast<std::uint64_t>(group ? std::min(available, *group) : available);
}

void complete_training(StudyRequest& request) {
  record::RunSpec& spec = request.train.spec;
  spec.recipe = request.what.empty() ? spec.recipe : request.what;
  strategies_of(request);
  refuse_command_options(request);
  if (spec.device.empty()) spec.device = "cpu";
  if (spec.device != "cpu" && spec.device != "cuda") {
    throw Error(ErrorKind::kUsage,
                fmt::format("lockstep trains on cpu or cuda, not on {}", spec.device),
                "other names are for commands after --");
  }
  // A rung fits or does not within a few steps.
  if (request.is_ladder() && spec.epochs == 0 && spec.max_steps == 0) {
    spec.max_steps = kStepsOfARung;
  }
  // With a limit on steps, epochs do not limit: an epoch has one step at least.
  if (spec.epochs == 0 && spec.max_steps > 0) {
    spec.epochs = static_cast<int>(std::min<std::int64_t>(spec.max_steps, kMostEpochs));
    request.train.validate = false;
  }
  if (spec.epochs == 0) spec.epochs = 2;
  check_launcher_options(request.launcher);
  if (!request.launcher.local()) {
    // What the hosts of a cluster have is not for this one to say.
    if (request.launcher.launcher != "slurm") {
      throw Error(ErrorKind::kUsage,
                  fmt::format("studies run locally or with Slurm, not with --launcher {}",
                              request.launcher.launcher),
                  "use lockstep train for single runs");
    }
    if (spec.threads_per_worker == 0) spec.threads_per_worker = 1;
    return;
  }
  const std::vector<int> counts = worker_counts(request);
  const int most = *std::max_element(counts.begin(), counts.end());
  // A worker must be the same device whatever their number, or the counts could not be compared.
  if (spec.threads_per_worker == 0) {
    spec.threads_per_worker = std::max(1, static_cast<int>(measure::usable_cores().size()) / most);
  }
  for (const int count : counts) {
    record::RunSpec probe = spec;
    probe.workers = count;
    plan_workers(probe);
  }
}

}  // namespace

StudyRequest::StudyRequest() {
  train.spec.workers = 0;
  train.spec.threads_per_worker = 0;
  train.spec.epochs = 0;
  train.spec.device = "";
}

void add_study_options(CLI::App& command, StudyRequest& request) {
  add_train_options(command, request.train);
  for (const char* name : kNotForStudies) command.remove_option(command.get_option(name));
  command.add_option("what", request.what, "Recipe to train (default fashion), or a plan file")
      ->type_name("RECIPE|PLAN.toml");
  add_launcher_options(command, request.launcher);
  const std::string group = "Study";
  const auto add = [&](const char* names, auto& field, const char* type, const std::string& text) {
    return command.add_option(names, field, text)->type_name(type)->group(group);
  };
  add("-n,--workers", request.workers, "N,N,...",
      "Worker counts to try (default: 1, 2, 4, ... up to the cores)");
  add("-b,--batch", request.batch, "b,b,...",
      "Batches per worker to try: weak scaling (default 128); 32..x4 climbs 32, 128, 512, ... "
      "until memory runs out");
  add("--global-batch", request.global_batch, "B,B,...",
      "Batches of all workers together to try: strong scaling, b = B/N");
  add("--strategy", request.strategy, "NAME,...",
      fmt::format("Ways to reduce gradients to try: {} (default overlap)",
                  fmt::join(record::names_of<record::Strategy>(), ", ")));
  add("--repeat", request.repeat, "N", "Runs of each configuration")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  add("--order-seed", request.order_seed, "N", "Decides the order within a round of repeats")
      ->capture_default_str();
  add("--name", request.name, "NAME",
      "Keep the runs under this name (default: made from the plan)");
  add("--device", request.devices, "NAME,...",
      "Devices to train on: cpu, cuda (default cpu); of a command, what {device} stands for");
  add("--pattern", request.pattern, "REGEX",
      "Read the output of a command by named groups, as lockstep import does");
  command
      .add_option_function<std::string>(
          "--time-limit",
          [&request](const std::string& text) {
            request.time_limit_s = parse_duration(text, "--time-limit");
          },
          "End a run of a command after that time, for example 30min")
      ->type_name("TIME")
      ->group(group);
  command
      .add_flag("--wall-time", request.wall_time,
                "Take the duration of a command as its total time; it need not print figures")
      ->group(group);
  command.add_flag("--show-output", request.show_output, "Show what a command writes, on stderr")
      ->group(group);
  command.add_flag("--dry-run", request.dry_run, "Show the plan, run nothing")->group(group);
  command.add_flag("--retry-failed", request.retry_failed, "Try runs that failed before once more")
      ->group(group);
}

std::vector<StudyRequest> split_request(const StudyRequest& request) {
  std::vector<StudyRequest> parts;
  for (const std::string& what : study::parse_names(request.what, "the recipe", true)) {
    for (const std::string& device : study::parse_names(request.devices, "--device", true)) {
      StudyRequest& part = parts.emplace_back(request);
      part.what = what;
      part.train.spec.device = device;
    }
  }
  return parts;
}

void complete_study_request(StudyRequest& request) {
  if (request.name.find('\n') != std::string::npos) {
    throw Error(ErrorKind::kUsage, "--name must be one line", "give a short name");
  }
  if (request.workers.empty()) {
    request.workers = default_workers(static_cast<int>(measure::usable_cores().size()));
  }
  if (request.batch.empty() && request.global_batch.empty()) request.batch = "128";
  if (request.is_foreign()) {
    complete_foreign(request);
  } else {
    complete_training(request);
  }
  if (request.name.empty()) request.name = default_study_name(request);
}

std::uint64_t memory_budget(const StudyRequest& request) {
  if (request.train.memory_bytes > 0 || !request.is_ladder()) return request.train.memory_bytes;
  return free_memory();
}

study::Sweep sweep_of(const StudyRequest& request) {
  study::Sweep sweep;
  sweep.workers = worker_counts(request);
  if (request.is_ladder()) {
    sweep.ladder = study::parse_ladder(request.batch, "--batch", kLargestBatch);
  } else if (!request.batch.empty()) {
    sweep.batches = study::parse_counts(request.batch, "--batch", kLargestBatch);
  }
  if (!request.global_batch.empty()) {
    sweep.global_batches = study::parse_counts(request.global_batch, "--global-batch",
                                               kLargestBatch * kMostStudyWorkers);
  }
  sweep.strategies = strategies_of(request);
  sweep.repeats = request.repeat;
  sweep.order_seed = request.order_seed;
  sweep.fixed = fixed_text(request);
  return sweep;
}

std::string default_study_name(const StudyRequest& request) {
  const std::string fixed = fixed_text(request);
  const std::string what =
      request.is_foreign() ? study::command_title(request.command) : request.train.spec.recipe;
  return what + "-" + format_digest(digest(std::as_bytes(std::span(fixed)))).substr(0, 6);
}

}  // namespace lockstep::cli
