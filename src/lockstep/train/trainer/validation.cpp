#include "lockstep/train/trainer/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "lockstep/base/terminal/log.h"

namespace lockstep::train {
namespace {

/// Longest wait for a batch.
constexpr Seconds kInputTimeout{60};
/// Between two lines about how far it is.
constexpr Nanoseconds kNewsInterval = 10'000'000'000;
/// Batches after which the ranks agree on whether to stop.
constexpr std::int64_t kAgreeEvery = 8;

}  // namespace

Validation::Validation(std::shared_ptr<const data::Dataset> dataset,
                       std::shared_ptr<const data::Transform> transform, std::int64_t batch,
                       int loader_threads, comm::Communicator& communicator, const Clock& clock,
                       Device& device)
    : device_(device),
      feed_(dataset, transform,
            {.examples = dataset->size(),
             .batch = batch,
             .rank = communicator.rank(),
             .world = communicator.size(),
             .shuffle = false},
            {.threads = loader_threads}, device, clock, kInputTimeout),
      communicator_(communicator),
      clock_(clock) {}

/// False when a rank was asked to stop.
bool Validation::evaluate_all(Task& task, const std::atomic<bool>& stop, EvaluationSums& sums) {
  const Nanoseconds began = clock_.monotonic();
  Nanoseconds news_at = began;
  std::int64_t done = 0;
  feed_.start_epoch(1);
  while (auto batch = feed_.next(0)) {
    if (batch->count > 0) {
      const Device::MixedPrecision precision(device_);
      task.evaluate(*batch, sums);
    }
    *batch = {};
    feed_.release();
    feed_.prefetch();
    // Every rank has as many batches, the last ones perhaps empty.
    if (++done % kAgreeEvery == 0) {
      const auto asked = communicator_.gather_all(stop.load() ? 1 : 0);
      if (std::find(asked.begin(), asked.end(), 1) != asked.end()) return false;
    }
    const Nanoseconds now = clock_.monotonic();
    if (communicator_.rank() != 0 || now - news_at < kNewsInterval) continue;
    news_at = now;
    const double share = static_cast<double>(done) / static_cast<double>(feed_.steps_per_epoch());
    const Seconds left(static_cast<double>(now - began) * 1e-9 * (1 / share - 1));
    log_info(
        fmt::format("validation: {:.0f} % done, about {} left", 100 * share, format_seconds(left)));
  }
  return true;
}

std::optional<ValidationResult> Validation::run(Task& task, const std::atomic<bool>& stop) {
  EvaluationSums sums;
  torch::NoGradGuard no_grad;
  for (const Player& player : task.players()) player.network->eval();
  const bool complete = evaluate_all(task, stop, sums);
  for (const Player& player : task.players()) player.network->train();
  if (!complete) return std::nullopt;
  struct Sums {
    double loss, correct, examples;
  } total{};
  const Sums mine{sums.loss.read(), sums.correct.read(), sums.examples};
  for (const Sums& rank : communicator_.gather_all(mine)) {
    total.loss += rank.loss;
    total.correct += rank.correct;
    total.examples += rank.examples;
  }
  return ValidationResult{total.loss / total.examples,
                          task.has_accuracy() ? total.correct / total.examples
                                              : std::numeric_limits<double>::quiet_NaN()};
}

}  // namespace lockstep::train
