#include "lockstep/study/request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <span>

#include "lockstep/base/digest.h"
#include "lockstep/base/error.h"
#include "lockstep/launch/training_run.h"
#include "lockstep/measure/core_map.h"
#include "lockstep/measure/machine.h"
#include "lockstep/record/train_arguments.h"
#include "lockstep/study/command/command_template.h"

namespace lockstep::study {
namespace {

constexpr std::int64_t kMostStudyWorkers = 65'536;
constexpr std::int64_t kLargestBatch = 1 << 24;
constexpr std::int64_t kMostThreads = 4096;
constexpr int kMostEpochs = 1'000'000;
constexpr int kStepsOfARung = 3;

std::vector<int> worker_counts(const StudyRequest& request) {
  std::vector<int> counts;
  for (const std::int64_t count : parse_counts(request.workers, "--workers", kMostStudyWorkers)) {
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

/// Where the runs take place, as far as it decides their speed; empty on this machine.
std::string cluster_text(const launch::LauncherOptions& launcher) {
  if (launcher.local()) return "";
  const launch::ClusterOptions& cluster = launcher.cluster;
  std::string text = joined({fmt::format("\n{}", record::name_of(launcher.launcher)),
                             cluster.partition, cluster.gres, std::to_string(cluster.nodes)});
  if (cluster.workers_per_node > 0) text += fmt::format("\nper node={}", cluster.workers_per_node);
  return text;
}

/// All that decides what the runs do besides the axes of the grid.
std::string fixed_text(const StudyRequest& request) {
  if (request.is_foreign()) {
    const record::RunSpec& spec = request.train.spec;
    return fmt::format("command\n{}\nepochs={} seed={} device={} memory={}",
                       joined(request.command), spec.epochs, spec.seed, spec.device,
                       request.is_ladder() ? request.train.memory_bytes : 0) +
           (spec.threads_per_worker > 0 ? fmt::format(" threads={}", spec.threads_per_worker)
                                        : "") +
           (spec.max_steps > 0 ? fmt::format(" steps={}", spec.max_steps) : "") +
           cluster_text(request.launcher);
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
  return joined(record::train_arguments(common)) + cluster_text(request.launcher);
}

/// Studies run on this machine or as jobs of Slurm.
void check_launcher(const StudyRequest& request) {
  launch::check_launcher_options(request.launcher);
  if (request.launcher.local() || request.launcher.launcher == record::Launcher::kSlurm) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("studies run locally or with Slurm, not with --launcher {}",
                          record::name_of(request.launcher.launcher)),
              "use lockstep train for single runs");
}

void complete_foreign(StudyRequest& request) {
  check_launcher(request);
  if (!request.launcher.local() && request.time_limit_s > 0) {
    throw Error(ErrorKind::kUsage, "--time-limit applies to runs on this machine",
                "with --launcher slurm, limit the job: --time 30");
  }
  if (!request.what.empty()) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("a study trains the recipe {} or runs a command, not both", request.what),
        "omit the recipe or the command after --");
  }
  if (!request.strategy.empty()) {
    throw Error(ErrorKind::kUsage, "--strategy applies to lockstep's own trainer, not to a command",
                "write your program's option into the command");
  }
  if (request.train.spec.max_steps > 0 && (!request.launcher.local() || !request.watch)) {
    throw Error(ErrorKind::kUsage, "--steps applies to commands that are watched on this machine",
                "without watching and in Slurm jobs, write your program's option into the command");
  }
  if (request.train.spec.epochs == 0) request.train.spec.epochs = 1;
}

/// Words that only a command after "--" gives a meaning to.
void refuse_command_options(const StudyRequest& request) {
  for (const auto& [given, option] : {std::pair{!request.pattern.empty(), "--pattern"},
                                      {request.wall_time, "--wall-time"},
                                      {request.show_output, "--show-output"},
                                      {request.time_limit_s > 0, "--time-limit"},
                                      {!request.watch, "--no-watch"}}) {
    if (!given) continue;
    throw Error(ErrorKind::kUsage,
                fmt::format("{} applies to the output of a command, but none was given", option),
                "write the command after --");
  }
}

/// Throws kUsage for a name that is none. A foreign command has no strategy of ours.
std::vector<std::optional<record::Strategy>> strategies_of(const StudyRequest& request) {
  if (request.is_foreign()) return {std::nullopt};
  if (request.strategy.empty()) return {record::RunSpec().strategy};
  std::vector<std::optional<record::Strategy>> strategies;
  for (const std::string& name : parse_names(request.strategy, "--strategy")) {
    strategies.emplace_back(record::parse_choice<record::Strategy>("--strategy", name));
  }
  return strategies;
}

/// 0 where --threads was not given: complete_training() decides.
std::vector<int> thread_counts(const StudyRequest& request) {
  if (request.threads.empty()) return {0};
  std::vector<int> counts;
  for (const std::int64_t count : parse_counts(request.threads, "--threads", kMostThreads)) {
    counts.push_back(static_cast<int>(count));
  }
  return counts;
}

/// Several numbers of threads are compared on the same cores: 1 x 2 against 2 x 1, not 2 x 2.
void keep_counts_that_fit(StudyRequest& part) {
  if (!part.launcher.local() || part.train.spec.oversubscribed) return;
  const int cores = static_cast<int>(measure::usable_cores().size());
  if (part.workers.empty()) part.workers = default_workers(cores);
  std::vector<int> counts = worker_counts(part);
  const auto too_many = [&](int count) {
    return count * part.train.spec.threads_per_worker > cores;
  };
  // If none fits, the check of the first one gives the reason.
  if (std::all_of(counts.begin(), counts.end(), too_many)) return;
  std::erase_if(counts, too_many);
  part.workers = fmt::format("{}", fmt::join(counts, ","));
}

/// What the machine can give to all workers together without taking it from others.
std::uint64_t free_memory() {
  const std::int64_t available = measure::read_available_memory_bytes();
  const auto group = measure::read_group_limits().memory_bytes;
  return static_cast<std::uint64_t>(group ? std::min(available, *group) : available);
}

void complete_training(StudyRequest& request) {
  record::RunSpec& spec = request.train.spec;
  if (names_a_program(request.what)) {
    throw Error(ErrorKind::kUsage, fmt::format("{} is not a recipe", request.what),
                fmt::format("to study a program, write it after --: lockstep study -- {}{}",
                            request.what.ends_with(".py") ? "python " : "", request.what));
  }
  spec.recipe = request.what.empty() ? spec.recipe : request.what;
  strategies_of(request);
  refuse_command_options(request);
  if (spec.device.empty()) spec.device = "cpu";
  if (spec.device != "cpu" && spec.device != "cuda") {
    throw Error(ErrorKind::kUsage,
                fmt::format("lockstep trains on cpu or cuda, not on {}", spec.device),
                "other device names are possible for a command after --");
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
  check_launcher(request);
  if (!request.launcher.local()) {
    // What the hosts of a cluster have is unknown here.
    if (spec.threads_per_worker == 0) spec.threads_per_worker = 1;
    return;
  }
  const std::vector<int> counts = worker_counts(request);
  const int most = *std::max_element(counts.begin(), counts.end());
  // A worker must be the same device for every worker count, or the counts could not be compared.
  if (spec.threads_per_worker == 0) {
    spec.threads_per_worker = std::max(1, static_cast<int>(measure::usable_cores().size()) / most);
  }
  for (const int count : counts) {
    record::RunSpec probe = spec;
    probe.workers = count;
    launch::plan_workers(probe);
  }
}

}  // namespace

StudyRequest::StudyRequest() {
  train.spec.workers = 0;
  train.spec.threads_per_worker = 0;
  train.spec.epochs = 0;
  train.spec.device = "";
}

std::vector<StudyRequest> split_request(const StudyRequest& request) {
  const std::vector<int> threads = thread_counts(request);
  std::vector<StudyRequest> parts;
  for (const std::string& what : parse_names(request.what, "the recipe", true)) {
    for (const std::string& device : parse_names(request.devices, "--device", true)) {
      for (const int count : threads) {
        StudyRequest& part = parts.emplace_back(request);
        part.what = what;
        part.train.spec.device = device;
        part.train.spec.threads_per_worker = count;
        if (threads.size() > 1) keep_counts_that_fit(part);
      }
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
  const bool takes_batch = !request.is_foreign() || has_placeholder(request.command, "batch") ||
                           has_placeholder(request.command, "global_batch");
  if (request.batch.empty() && request.global_batch.empty() && takes_batch) request.batch = "128";
  if (request.is_foreign()) {
    complete_foreign(request);
  } else {
    complete_training(request);
  }
  if (request.name.empty()) request.name = default_study_name(request);
}

std::uint64_t memory_budget(const StudyRequest& request) {
  const bool limited_by_default = request.is_ladder() && request.launcher.local();
  if (request.train.memory_bytes > 0 || !limited_by_default) return request.train.memory_bytes;
  return free_memory();
}

Sweep sweep_of(const StudyRequest& request) {
  Sweep sweep;
  sweep.workers = worker_counts(request);
  if (request.is_ladder()) {
    sweep.ladder = parse_ladder(request.batch, "--batch", kLargestBatch);
  } else if (!request.batch.empty()) {
    sweep.batches = parse_counts(request.batch, "--batch", kLargestBatch);
  }
  if (!request.global_batch.empty()) {
    sweep.global_batches =
        parse_counts(request.global_batch, "--global-batch", kLargestBatch * kMostStudyWorkers);
  }
  // Of a command that takes no batch it is not known before it runs.
  if (request.batch.empty() && request.global_batch.empty()) sweep.batches = {0};
  sweep.strategies = strategies_of(request);
  if (request.threads.find(',') != std::string::npos) {
    sweep.threads = request.train.spec.threads_per_worker;
  }
  sweep.repeats = request.repeat;
  sweep.order_seed = request.order_seed;
  sweep.fixed = fixed_text(request);
  return sweep;
}

std::string default_study_name(const StudyRequest& request) {
  const std::string fixed = fixed_text(request);
  const std::string what =
      request.is_foreign() ? command_title(request.command) : request.train.spec.recipe;
  return what + "-" + format_digest(digest(std::as_bytes(std::span(fixed)))).substr(0, 6);
}

}  // namespace lockstep::study
