#include "lockstep/watch/noise_of_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "lockstep/measure/noise_scale.h"

namespace lockstep::watch {
namespace {

constexpr std::int64_t kBatch = 32;

struct Norms {
  double own = 0, averaged = 0;  ///< squares
};
using NormsAt = std::function<Norms(std::int64_t step)>;

/// Two ranks that sampled the steps for which `sampled` is true.
std::vector<RankRecord> ranks_with(std::int64_t steps, const NormsAt& norms_at,
                                   const std::function<bool(std::int64_t)>& sampled) {
  std::vector<RankRecord> ranks(2);
  for (std::int64_t s = 0; s < steps; ++s) {
    if (!sampled(s)) continue;
    const Norms norms = norms_at(s);
    ranks[0].norms.push_back({s, norms.own - 0.5, norms.averaged, kBatch});
    ranks[1].norms.push_back({s, norms.own + 0.5, norms.averaged, kBatch});
  }
  return ranks;
}

record::EpochResult estimated(const std::vector<RankRecord>& ranks, std::int64_t steps) {
  record::EpochResult epoch;
  NoiseOfRun(ranks).estimate_at(steps - 1, epoch);
  return epoch;
}

/// What `lockstep train` reports for these norms, all of which it has.
measure::NoiseScale::Estimate of_train(std::int64_t from, std::int64_t steps,
                                       const NormsAt& norms_at) {
  measure::NoiseScale noise;
  for (std::int64_t s = from; s < steps; ++s) {
    const Norms norms = norms_at(s);
    noise.add(norms.own, kBatch, norms.averaged, 2 * kBatch);
  }
  return noise.estimate().value();
}

Norms steady(std::int64_t step) {
  return {5.0 + 0.1 * static_cast<double>(step % 3), 3.0};
}

TEST(NoiseOfRun, IsThatOfTrainWhereEveryStepIsSampled) {
  const auto ranks = ranks_with(20, steady, [](std::int64_t) { return true; });
  const record::EpochResult epoch = estimated(ranks, 20);
  const auto direct = of_train(0, 20, steady);
  EXPECT_NEAR(epoch.noise_scale, direct.value, 1e-9);
  EXPECT_NEAR(epoch.noise_scale_low, direct.low, 1e-9);
}

/// The gradient shrinks while its noise stays, as in most runs: at the end the noise scale is 100
/// times that of the beginning.
Norms of_a_run(std::int64_t step) {
  const double slope = 10 * std::exp(-static_cast<double>(step) / 1000 * std::log(100.0));
  const double trace = 2000;
  return {slope + trace / kBatch, slope + trace / (2 * kBatch)};
}

TEST(NoiseOfRun, SampledStepsGiveTheNoiseOfTheLastSteps) {
  const double of_all = of_train(0, 1000, of_a_run).value;
  const auto ranks =
      ranks_with(1000, of_a_run, [](std::int64_t s) { return s < 24 || s % 4 == 3; });
  // 32 samples are 128 steps, in which the noise scale grows by 80 %.
  EXPECT_NEAR(estimated(ranks, 1000).noise_scale, of_all, 0.2 * of_all);
}

TEST(NoiseOfRun, FewSamplesReachFurtherBackButNotToTheBeginning) {
  for (const std::int64_t period : {8, 32}) {
    const auto ranks = ranks_with(
        1000, of_a_run, [&](std::int64_t s) { return s < 24 || s % period == period - 1; });
    const double value = estimated(ranks, 1000).noise_scale;
    EXPECT_LT(value, of_train(0, 1000, of_a_run).value) << period;
    EXPECT_GT(value, of_train(0, 700, of_a_run).value) << period;
  }
}

TEST(NoiseOfRun, WhatDoesNotChangeIsTheSameHoweverOftenItIsSampled) {
  const double of_all = of_train(0, 1000, steady).value;
  for (const std::int64_t period : {4, 8, 64}) {
    const auto ranks =
        ranks_with(1000, steady, [&](std::int64_t s) { return s < 24 || s % period == 0; });
    // Which of the three kinds of steps are sampled differs.
    EXPECT_NEAR(estimated(ranks, 1000).noise_scale, of_all, 0.03 * of_all) << period;
  }
}

TEST(NoiseOfRun, TheFirstStepsOfAShortRunAreLeftOut) {
  const NormsAt norms_at = [](std::int64_t s) { return s < 24 ? Norms{3.001, 3.0} : steady(s); };
  const auto ranks = ranks_with(120, norms_at, [](std::int64_t s) { return s < 24 || s % 8 == 7; });
  // Which of the three kinds of steps are sampled differs.
  const double later = of_train(24, 120, norms_at).value;
  EXPECT_NEAR(estimated(ranks, 120).noise_scale, later, 0.03 * later);
}

TEST(NoiseOfRun, LeavesStepsWithUnequalBatchesOut) {
  auto ranks = ranks_with(20, steady, [](std::int64_t) { return true; });
  for (GradientNorms& norms : ranks[1].norms) norms.examples = kBatch / 2;
  EXPECT_TRUE(std::isnan(estimated(ranks, 20).noise_scale));
}

}  // namespace
}  // namespace lockstep::watch
