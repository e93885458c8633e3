#include "lockstep/predict/scaling_forms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace lockstep::predict {
namespace {

/// A series whose time per worker is t(n), and what form says of t at the target.
double time_by(Form form, const std::function<double(double)>& t, double target) {
  std::vector<ScalingPoint> points;
  for (double n : {1.0, 2.0, 4.0, 8.0}) points.push_back({n, n / t(n), 1});
  const std::vector<double> logs = log_efficiencies(points);
  const double change = evaluate_forms(points, logs, target)[static_cast<std::size_t>(form)];
  return t(1) * std::exp(-(logs.back() + change));
}

TEST(ScalingForms, EachFormContinuesItsOwnLawExactly) {
  const auto ring = [](double n) { return 2 + 1.5 * (1 - 1 / n); };
  const auto tree = [](double n) { return 2 + 0.3 * std::log2(n); };
  const auto linear = [](double n) { return 2 + 0.1 * n; };
  const auto power = [](double n) { return 2 * std::pow(n, 0.2); };
  EXPECT_NEAR(time_by(Form::kRing, ring, 32), ring(32), 1e-9);
  EXPECT_NEAR(time_by(Form::kTree, tree, 32), tree(32), 1e-9);
  EXPECT_NEAR(time_by(Form::kIncrement, tree, 32), tree(32), 1e-9);
  EXPECT_NEAR(time_by(Form::kLinear, linear, 32), linear(32), 1e-9);
  EXPECT_NEAR(time_by(Form::kPowerLast, power, 32), power(32), 1e-9);
  EXPECT_NEAR(time_by(Form::kPowerAll, power, 32), power(32), 1e-9);
}

TEST(ScalingForms, DoNotRecoverFromACollapse) {
  std::vector<ScalingPoint> points{{1, 1, 0}, {8, 8, 0}, {16, 1.6, 0}};
  const auto change = evaluate_forms(points, log_efficiencies(points), 32);
  EXPECT_EQ(change[static_cast<std::size_t>(Form::kPrevious)], 0);
  EXPECT_EQ(change[static_cast<std::size_t>(Form::kBest)], 0);
}

TEST(ScalingForms, KeepAGainButDoNotAddToIt) {
  // The second count was disturbed; the third came back, and no law lets the next exceed it.
  std::vector<ScalingPoint> points{{1, 1, 0}, {4, 1.2, 0}, {8, 4, 0}};
  for (const double change : evaluate_forms(points, log_efficiencies(points), 16)) {
    EXPECT_LE(change, 0);
  }
}

TEST(ScalingForms, DoNotComeBackAcrossTheHostBoundary) {
  // Two counts on one host, then two on several: of those the better one may come back.
  const std::vector<ScalingPoint> points{{2, 2, 1}, {4, 3.9, 1}, {8, 4, 2}, {12, 5, 3}};
  const auto logs = log_efficiencies(points);
  const auto across = evaluate_forms(points, logs, 16, 2);
  EXPECT_NEAR(across[static_cast<std::size_t>(Form::kBest)], std::log(0.5 / (5.0 / 12)), 1e-12);
  const auto anywhere = evaluate_forms(points, logs, 16);
  EXPECT_GT(anywhere[static_cast<std::size_t>(Form::kBest)],
            across[static_cast<std::size_t>(Form::kBest)]);
  const auto just_left =
      evaluate_forms({{2, 2, 1}, {4, 3.9, 1}, {8, 4, 2}}, {logs[0], logs[1], logs[2]}, 16, 2);
  EXPECT_EQ(just_left[static_cast<std::size_t>(Form::kPrevious)], 0);
  EXPECT_EQ(just_left[static_cast<std::size_t>(Form::kBest)], 0);
}

TEST(ScalingForms, OnePointKnowsOnlyPriorLosses) {
  const std::vector<ScalingPoint> points{{2, 5, 0}};
  const auto change = evaluate_forms(points, {0}, 8);
  EXPECT_EQ(change[static_cast<std::size_t>(Form::kTree)], 0);
  EXPECT_LT(change[static_cast<std::size_t>(Form::kTypicalLoss)], 0);
}

}  // namespace
}  // namespace lockstep::predict
