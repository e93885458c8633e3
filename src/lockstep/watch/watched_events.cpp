#include "lockstep/watch/watched_events.h"

#include <algorithm>
#include <cmath>

namespace lockstep::watch {
namespace {

/// As many as the workers of lockstep train gather at a time.
constexpr std::size_t kStepsPerBlock = 1024;

/// What the program logged itself stays.
void take(double from, double& into) {
  if (!std::isfinite(into)) into = from;
}

void take_outcome(const record::EpochResult& from, record::EpochResult& into) {
  take(from.train_loss, into.train_loss);
  take(from.train_accuracy, into.train_accuracy);
  take(from.val_loss, into.val_loss);
  take(from.val_accuracy, into.val_accuracy);
  take(from.learning_rate, into.learning_rate);
  into.metrics.insert(from.metrics.begin(), from.metrics.end());
}

/// The epochs of the watcher with the outcomes of the output. Where the two disagree on the number
/// of epochs, an outcome of another epoch would be worse than none.
std::vector<record::EpochResult> epochs_of(const WatchedRun& run,
                                           const std::vector<record::EpochResult>& reported) {
  std::vector<record::EpochResult> epochs = run.epochs;
  if (reported.size() != epochs.size()) return epochs;
  for (std::size_t i = 0; i < epochs.size(); ++i) take_outcome(reported[i], epochs[i]);
  return epochs;
}

}  // namespace

void describe(const WatchedRun& run, record::RunStarted& started) {
  record::RunSpec& spec = started.spec;
  started.build.torch = run.torch;
  if (spec.device.empty()) spec.device = run.device;
  spec.workers = run.workers;
  spec.nodes = std::max(1, static_cast<int>(run.hosts.size()));
  spec.threads_per_worker = run.threads_per_worker;
  spec.parameters = run.parameters;
  if (!run.backend.empty()) spec.backend = record::choice_named<record::Backend>(run.backend);
  spec.flops_per_example = run.flops_per_example;
  spec.data.unit = run.unit == "examples" ? "" : run.unit;
  spec.data.loader_workers = run.loader_workers;
  if (run.batch_per_worker > 0) {
    // Examples per optimizer step: several batches where gradients are accumulated. The loader
    // knows better than the plan, whose batch the script may ignore.
    const std::int64_t batch = run.loader_batch > 0 ? run.loader_batch : spec.batch_per_worker;
    const bool whole = batch > 0 && run.batch_per_worker % batch == 0;
    spec.accumulate = whole ? static_cast<int>(run.batch_per_worker / batch) : 1;
    spec.batch_per_worker = whole ? batch : run.batch_per_worker;
  }
  if (!run.epochs_known && spec.max_steps == 0 && !run.steps.empty()) {
    spec.max_steps = run.steps.back().step + 1;
  }
  if (spec.max_steps > 0) {
    // What was seen is a part of an epoch; the loader knows the whole.
    spec.data.train_examples = run.loader_examples;
    if (spec.global_batch() > 0) {
      started.steps_per_epoch =
          (run.loader_examples + spec.global_batch() - 1) / spec.global_batch();
    }
    return;
  }
  // Like the batch: the script may have ignored the number of the plan.
  spec.epochs = static_cast<int>(run.epochs.size());
  for (const record::EpochResult& epoch : run.epochs) {
    spec.data.train_examples = std::max(spec.data.train_examples, epoch.examples);
    std::int64_t steps = 0;
    for (const record::StepTimes& step : run.steps) {
      steps += step.epoch == epoch.epoch && step.rank == run.steps.front().rank;
    }
    started.steps_per_epoch = std::max(started.steps_per_epoch, steps);
  }
}

std::vector<record::Event> events(const WatchedRun& run,
                                  const std::vector<record::EpochResult>& reported) {
  std::vector<record::Event> list;
  for (std::size_t i = 0; i < run.steps.size(); i += kStepsPerBlock) {
    const std::size_t end = std::min(run.steps.size(), i + kStepsPerBlock);
    record::StepBlock block;
    block.steps.assign(run.steps.begin() + static_cast<std::ptrdiff_t>(i),
                       run.steps.begin() + static_cast<std::ptrdiff_t>(end));
    list.emplace_back(std::move(block));
  }
  if (!run.utilisation.empty()) list.emplace_back(record::UtilisationBlock{run.utilisation});
  for (record::EpochResult& epoch : epochs_of(run, reported)) list.emplace_back(std::move(epoch));
  return list;
}

}  // namespace lockstep::watch
