#include "lockstep/study/auto_workers/rate_probe.h"

#include "lockstep/analyze/steps/step_breakdown.h"

namespace lockstep::study {
namespace {

constexpr std::int64_t kWarmUpSteps = analyze::StepBreakdownBuilder::kWarmupSteps;
/// Slow steps reach their speed sooner: the warm-up also ends after this time.
constexpr double kLongestWarmUp = 4;
/// Long enough for several parts, and for other programs to come and go.
constexpr double kMeasured = 2;
constexpr int kParts = 3;
/// Of slow steps fewer parts have to do.
constexpr double kLongestMeasured = 6;

}  // namespace

void RateProbe::write(const record::Event& event) {
  if (const auto* started = std::get_if<record::RunStarted>(&event)) {
    global_batch_ = started->spec.global_batch();
    examples_per_step_ = static_cast<double>(global_batch_);
    if (started->steps_per_epoch > 0 && started->spec.data.train_examples > 0) {
      examples_per_step_ = static_cast<double>(started->spec.data.train_examples) /
                           static_cast<double>(started->steps_per_epoch);
    }
  }
  if (const auto* progress = std::get_if<record::Progress>(&event)) on(*progress);
  if (const auto* epoch = std::get_if<record::EpochResult>(&event)) on(*epoch);
}

void RateProbe::on(const record::Progress& event) {
  const std::int64_t steps = event.step - (event.epoch == epoch_ ? step_ : 0);
  epoch_ = event.epoch;
  step_ = event.step;
  if (steps <= 0 || event.examples_per_s <= 0) return;
  // The rate counts every step as a whole global batch.
  add({static_cast<double>(steps),
       static_cast<double>(steps * global_batch_) / event.examples_per_s});
}

/// An epoch shorter than the interval between two reports of progress has none.
void RateProbe::on(const record::EpochResult& event) {
  if (event.epoch == epoch_ || event.train_s <= 0 || examples_per_step_ <= 0) return;
  add({static_cast<double>(event.examples) / examples_per_step_, event.train_s});
}

void RateProbe::add(const Part& part) {
  if (warm_up_.steps < kWarmUpSteps && warm_up_.seconds < kLongestWarmUp) {
    warm_up_.add(part);
    return;
  }
  steady_.add(part);
  ++parts_;
  const bool enough = steady_.seconds >= kMeasured && parts_ >= kParts;
  if (enough || steady_.seconds >= kLongestMeasured) throw Measured{};
}

double RateProbe::examples_per_s() const {
  const Part& part = steady_.seconds > 0 ? steady_ : warm_up_;
  return part.seconds > 0 ? part.steps * examples_per_step_ / part.seconds : 0;
}

}  // namespace lockstep::study
