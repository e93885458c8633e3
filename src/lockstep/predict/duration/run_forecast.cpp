#include "lockstep/predict/duration/run_forecast.h"

#include <algorithm>
#include <cmath>

#include "lockstep/base/statistics.h"

namespace lockstep::predict {
namespace {

/// Where predictions are remembered, and until where each may still be made.
constexpr std::array<double, 3> kMarks{0.01, 0.05, 0.20};
constexpr std::array<double, 3> kLatest{0.05, 0.20, 0.50};
/// Before the first validation: its forward pass over an example is about a third of a training
/// step's time for one, and the whole of it where reading the data is the limit.
constexpr Estimate kForwardOfStep{0.33, 0.1, 1.0};
constexpr double kUsualValidationSpread = 0.1;

std::int64_t planned_steps(const record::RunStarted& started) {
  const std::int64_t steps = started.spec.epochs * started.steps_per_epoch;
  return started.spec.max_steps > 0 ? std::min(steps, started.spec.max_steps) : steps;
}

}  // namespace

RunForecast::RunForecast(const record::RunStarted& started, const Clock& clock)
    : clock_(clock),
      started_(started),
      steps_in_all_(planned_steps(started)),
      began_(clock.monotonic()),
      updated_(began_),
      epoch_(started.first_epoch) {
  for (std::size_t i = 0; i < marks_.size(); ++i) marks_[i].part = kMarks[i];
  steps_done_ = (started.first_epoch - 1) * started.steps_per_epoch;
}

void RunForecast::add_steps(std::int64_t steps, double seconds) {
  if (steps < 1) return;
  if (!early_) early_.emplace(steps_in_all_ - (steps_done_ - steps));
  early_->add(seconds, steps);
}

void RunForecast::update(const record::Progress& progress) {
  const Nanoseconds now = clock_.monotonic();
  if (progress.epoch != epoch_) {
    epoch_ = progress.epoch;
    epoch_step_ = 0;
    epoch_seconds_ = 0;
  }
  std::int64_t steps = progress.step - epoch_step_;
  const auto batch = static_cast<double>(std::max<std::int64_t>(started_.spec.global_batch(), 1));
  const double step_s = progress.examples_per_s > 0 ? batch / progress.examples_per_s : 0;
  if (!early_ && step_s > 0) {
    // A run resumed in mid-epoch did not do the steps before: no more than the time allows.
    const double since = static_cast<double>(now - began_) * 1e-9;
    steps = std::min<std::int64_t>(steps, 1 + std::llround(since / step_s));
  }
  epoch_step_ = progress.step;
  steps_done_ = (progress.epoch - 1) * progress.steps_per_epoch + progress.step;
  updated_ = now;
  const double seconds = step_s * static_cast<double>(steps);
  add_steps(steps, seconds);
  epoch_seconds_ += seconds;
  take_marks();
}

void RunForecast::finish_epoch(const record::EpochResult& epoch) {
  // Steps since the last news of the epoch, whose time is in its total only.
  const bool known = epoch.epoch == epoch_;
  const std::int64_t before = (epoch.epoch - 1) * started_.steps_per_epoch;
  const std::int64_t end = std::min(before + started_.steps_per_epoch, steps_in_all_);
  const std::int64_t rest = end - before - (known ? epoch_step_ : 0);
  const double seconds = epoch.train_s - (known ? epoch_seconds_ : 0);
  steps_done_ = end;
  updated_ = clock_.monotonic();
  if (seconds > 0) add_steps(rest, seconds);
  if (epoch.val_s > 0) validations_.push_back(epoch.val_s);
  epoch_ = epoch.epoch + 1;
  epoch_step_ = 0;
  epoch_seconds_ = 0;
  take_marks();
}

Estimate RunForecast::validations_to_come() const {
  if (started_.steps_per_epoch < 1 || started_.spec.data.val_examples < 1) return {};
  const std::int64_t epochs =
      (steps_in_all_ + started_.steps_per_epoch - 1) / started_.steps_per_epoch;
  const std::int64_t left =
      epochs - (steps_done_ / started_.steps_per_epoch) -
      (steps_done_ == steps_in_all_ && steps_done_ % started_.steps_per_epoch);
  const auto count = static_cast<double>(std::max<std::int64_t>(left, 0));
  if (!validations_.empty()) {
    const Summary seen = summarize(validations_);
    const double half = std::max(1.645 * seen.deviation, kUsualValidationSpread * seen.mean);
    return {count * seen.mean, count * std::max(seen.mean - half, 0.0), count * (seen.mean + half)};
  }
  const auto step = early_->steady_step_s();
  if (!step) return {};
  const double batches = static_cast<double>(started_.spec.data.val_examples) /
                         static_cast<double>(started_.spec.global_batch());
  const double full = count * batches * *step;
  return {full * kForwardOfStep.value, full * kForwardOfStep.low, full * kForwardOfStep.high};
}

std::optional<Estimate> RunForecast::remaining() const {
  if (!early_) return std::nullopt;
  const auto steps = early_->total();
  if (!steps) return std::nullopt;
  const Estimate validation = validations_to_come();
  const double gone = early_->elapsed_s();
  return Estimate{std::max(steps->value - gone, 0.0) + validation.value,
                  std::max(steps->low - gone, 0.0) + validation.low,
                  std::max(steps->high - gone, 0.0) + validation.high};
}

std::optional<Estimate> RunForecast::total() const {
  const auto rest = remaining();
  if (!rest) return std::nullopt;
  const double gone = static_cast<double>(updated_ - began_) * 1e-9;
  return mapped(*rest, [&](double s) { return gone + s; });
}

std::int64_t RunForecast::warm_up_steps() const {
  return early_ ? early_->warm_up_steps() : 0;
}

double RunForecast::warm_up_cost_s() const {
  const auto step = early_ ? early_->steady_step_s() : std::nullopt;
  if (!step) return 0;
  const auto steady = static_cast<double>(early_->steps());
  return std::max(early_->elapsed_s() - steady * *step, 0.0);
}

void RunForecast::take_marks() {
  if (steps_in_all_ < 1) return;
  const double done = static_cast<double>(steps_done_) / static_cast<double>(steps_in_all_);
  while (next_mark_ < marks_.size() && done >= marks_[next_mark_].part) {
    const bool late = done >= kLatest[next_mark_];
    if (!late) {
      marks_[next_mark_].predicted = total();
      marks_[next_mark_].step = steps_done_;
    }
    // Too early to say: the mark stays open until the next one is due.
    if (!late && !marks_[next_mark_].predicted) return;
    ++next_mark_;
  }
}

}  // namespace lockstep::predict
