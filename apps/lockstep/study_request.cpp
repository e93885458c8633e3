#include "study_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <span>

#include "lockstep/base/digest.h"
#include "lockstep/base/error.h"
#include "lockstep/measure/machine.h"
#include "train_options.h"
#include "training_run.h"

namespace lockstep::cli {
namespace {

constexpr std::int64_t kMostWorkers = 65'536;
constexpr std::int64_t kLargestBatch = 1 << 24;
constexpr int kMostEpochs = 1'000'000;

/// What a study decides for each run itself, or what would be overwritten by the next.
constexpr const char* kNotForStudies[] = {"RECIPE",     "--batch",      "--workers",
                                          "--strategy", "--checkpoint", "--checkpoint-every",
                                          "--resume",   "--trace"};

std::vector<int> worker_counts(const StudyRequest& request) {
  std::vector<int> counts;
  for (const std::int64_t count : study::parse_counts(request.workers, "--workers", kMostWorkers)) {
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
  record::TrainRequest common = request.train;
  const record::TrainRequest defaults;
  common.spec.workers = 0;
  common.spec.batch_per_worker = 0;
  common.spec.strategy = defaults.spec.strategy;
  common.spec.oversubscribed = false;
  common.timeout_s = defaults.timeout_s;
  std::string text = joined(train_arguments(common));
  if (request.launcher.local()) return text;
  const launch::ClusterOptions& cluster = request.launcher.cluster;
  return text + joined({"\n" + request.launcher.launcher, cluster.partition, cluster.gres,
                        std::to_string(cluster.nodes)});
}

void complete_training(StudyRequest& request) {
  record::RunSpec& spec = request.train.spec;
  spec.recipe = request.what.empty() ? spec.recipe : request.what;
  if (request.strategy.empty()) request.strategy = "overlap";
  for (const std::string& name : study::parse_names(request.strategy, "--strategy")) {
    if (name == "overlap" || name == "blocking") continue;
    throw Error(ErrorKind::kUsage, fmt::format("--strategy '{}' is unknown", name),
                "give overlap, blocking or both with a comma");
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
}

void add_study_options(CLI::App& command, StudyRequest& request) {
  add_train_options(command, request.train);
  for (const char* name : kNotForStudies) command.remove_option(command.get_option(name));
  command.add_option("what", request.what, "Recipe to train (default fashion)")
      ->type_name("RECIPE");
  add_launcher_options(command, request.launcher);
  const std::string group = "Study";
  const auto add = [&](const char* names, auto& field, const char* type, const char* text) {
    return command.add_option(names, field, text)->type_name(type)->group(group);
  };
  add("-n,--workers", request.workers, "N,N,...",
      "Worker counts to try (default: 1, 2, 4, ... up to the cores)");
  add("-b,--batch", request.batch, "b,b,...",
      "Batches per worker to try: weak scaling (default 128)");
  add("--global-batch", request.global_batch, "B,B,...",
      "Batches of all workers together to try: strong scaling, b = B/N");
  add("--strategy", request.strategy, "NAME,...",
      "Ways to reduce gradients to try: overlap, blocking (default overlap)");
  add("--repeat", request.repeat, "N", "Runs of each configuration")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  add("--order-seed", request.order_seed, "N", "Decides the order within a round of repeats")
      ->capture_default_str();
  add("--name", request.name, "NAME",
      "Keep the runs under this name (default: made from the plan)");
  command.add_flag("--dry-run", request.dry_run, "Show the plan, run nothing")->group(group);
  command.add_flag("--retry-failed", request.retry_failed, "Try runs that failed before once more")
      ->group(group);
}

void complete_study_request(StudyRequest& request) {
  if (request.workers.empty()) {
    request.workers = default_workers(static_cast<int>(measure::usable_cores().size()));
  }
  if (request.batch.empty() && request.global_batch.empty()) request.batch = "128";
  complete_training(request);
  if (request.name.empty()) request.name = default_study_name(request);
}

study::Sweep sweep_of(const StudyRequest& request) {
  study::Sweep sweep;
  sweep.workers = worker_counts(request);
  if (!request.batch.empty()) {
    sweep.batches = study::parse_counts(request.batch, "--batch", kLargestBatch);
  }
  if (!request.global_batch.empty()) {
    sweep.global_batches =
        study::parse_counts(request.global_batch, "--global-batch", kLargestBatch * kMostWorkers);
  }
  sweep.strategies = study::parse_names(request.strategy, "--strategy");
  sweep.repeats = request.repeat;
  sweep.order_seed = request.order_seed;
  sweep.fixed = fixed_text(request);
  return sweep;
}

std::string default_study_name(const StudyRequest& request) {
  const std::string fixed = fixed_text(request);
  return request.train.spec.recipe + "-" +
         format_digest(digest(std::as_bytes(std::span(fixed)))).substr(0, 6);
}

}  // namespace lockstep::cli
