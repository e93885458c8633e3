#include "lockstep/measure/noise_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lockstep/base/rng.h"

namespace lockstep::measure {
namespace {

/// Gradients of examples are normal around a fixed G with independent entries of one variance, so
/// tr(Sigma) and |G|^2, and with them the noise scale, are known.
class Problem {
 public:
  Problem(double noise_scale, std::uint64_t seed) : rng_(seed) {
    for (double& entry : gradient_) entry = rng_.normal();
    double squares = 0;
    for (double entry : gradient_) squares += entry * entry;
    deviation_ = std::sqrt(noise_scale * squares / static_cast<double>(gradient_.size()));
  }

  /// One step of `ranks` workers with `batch` examples each.
  void step(NoiseScale& noise, int ranks, double batch) {
    double small_squares = 0;
    std::vector<double> mean(gradient_.size());
    for (int r = 0; r < ranks; ++r) {
      for (std::size_t i = 0; i < gradient_.size(); ++i) {
        // A mean over `batch` examples, drawn at once.
        const double entry = gradient_[i] + deviation_ * rng_.normal() / std::sqrt(batch);
        small_squares += entry * entry / ranks;
        mean[i] += entry / ranks;
      }
    }
    double big_squares = 0;
    for (double entry : mean) big_squares += entry * entry;
    noise.add(small_squares, batch, big_squares, batch * ranks);
  }

 private:
  Rng rng_;
  std::vector<double> gradient_ = std::vector<double>(200);
  double deviation_ = 0;
};

TEST(NoiseScale, FindsTheKnownNoiseScaleOfASyntheticProblem) {
  for (const double truth : {20.0, 300.0, 4000.0}) {
    for (const int ranks : {2, 8}) {
      Problem problem(truth, 7);
      NoiseScale noise(1000);
      for (int step = 0; step < 5000; ++step) problem.step(noise, ranks, 64);
      const auto estimate = noise.estimate();
      ASSERT_TRUE(estimate.has_value());
      // About 2000 steps' worth of smoothing.
      EXPECT_NEAR(estimate->value, truth, 0.15 * truth) << ranks;
      EXPECT_LE(estimate->low, estimate->value);
      ASSERT_TRUE(estimate->high.has_value());
      EXPECT_GE(*estimate->high, estimate->value);
      EXPECT_LT(*estimate->high - estimate->low, 0.5 * truth);
    }
  }
}

TEST(NoiseScale, ItsIntervalCoversTheTruthAsOftenAsStated) {
  constexpr double kTruth = 300;
  int held = 0;
  constexpr int kTrials = 200;
  for (int trial = 0; trial < kTrials; ++trial) {
    Problem problem(kTruth, 1000 + static_cast<std::uint64_t>(trial));
    NoiseScale noise;
    for (int step = 0; step < 300; ++step) problem.step(noise, 2, 64);
    const auto estimate = noise.estimate();
    ASSERT_TRUE(estimate.has_value());
    held += estimate->low <= kTruth && (!estimate->high || kTruth <= *estimate->high) ? 1 : 0;
  }
  // 95 % of 200, less four times the deviation of that count.
  EXPECT_GE(held, 190 - 4 * 3.1);
}

TEST(NoiseScale, HasNoUpperEndWhereTheGradientIsLostInNoise) {
  Problem problem(1e6, 3);
  NoiseScale noise;
  for (int step = 0; step < 200; ++step) problem.step(noise, 2, 4);
  const auto estimate = noise.estimate();
  if (estimate) {
    EXPECT_FALSE(estimate->high.has_value() && *estimate->high < 1e5);
  }
}

TEST(NoiseScale, ReportsNothingForAFewStepsOrForOneWorker) {
  NoiseScale noise;
  EXPECT_FALSE(noise.estimate().has_value());
  for (int step = 0; step < 100; ++step) noise.add(2, 64, 2, 64);
  EXPECT_FALSE(noise.estimate().has_value());
  noise.add(std::nan(""), 64, 1, 128);
  EXPECT_FALSE(noise.estimate().has_value());
}

TEST(NoiseScale, AStepThatStandsForSeveralCountsAsOften) {
  NoiseScale repeated, sampled;
  for (int step = 0; step < 30; ++step) {
    const double own = 5 + 0.1 * (step % 4);
    for (int i = 0; i < 8; ++i) repeated.add(own, 32, 3, 64);
    sampled.add(own, 32, 3, 64, 8);
  }
  EXPECT_NEAR(sampled.estimate()->value, repeated.estimate()->value, 1e-9);
  // The interval is wider: 30 different steps and not 240.
  EXPECT_LT(sampled.estimate()->low, repeated.estimate()->low);
}

TEST(NoiseScale, ContinuesFromItsFigures) {
  Problem problem(100, 1);
  NoiseScale first;
  for (int step = 0; step < 50; ++step) problem.step(first, 4, 16);
  NoiseScale second;
  second.restore(first.figures());
  Problem same(100, 2), again(100, 2);
  for (int step = 0; step < 20; ++step) {
    same.step(first, 4, 16);
    again.step(second, 4, 16);
  }
  EXPECT_EQ(first.figures(), second.figures());
  EXPECT_EQ(first.estimate()->value, second.estimate()->value);
}

}  // namespace
}  // namespace lockstep::measure
