#include "lockstep/predict/scaling/scaling_forms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace lockstep::predict {
namespace {

double change_of(Form form, const ScalingSeries& series, const ScalingPoint& target) {
  return evaluate_forms(series, target)[static_cast<std::size_t>(form)];
}

/// A series whose time per worker is t(n), and what form says of t at the target.
double time_by(Form form, const std::function<double(double)>& t, double target) {
  std::vector<ScalingPoint> points;
  for (double n : {1.0, 2.0, 4.0, 8.0}) points.push_back({n, n / t(n), 1});
  return t(8) * std::exp(-change_of(form, make_series("s", points), {target, 0, 1}));
}

TEST(ScalingForms, EachFormContinuesItsOwnLawExactly) {
  const auto ring = [](double n) { return 2 + 1.5 * (1 - 1 / n); };
  const auto serial = [](double n) { return 2 + 0.1 * n; };
  const auto power = [](double n) { return 2 * std::pow(n, 0.2); };
  const auto logarithmic = [](double n) { return 2 + 0.3 * std::log(n); };
  EXPECT_NEAR(time_by(Form::kRing, ring, 32), ring(32), 1e-9);
  EXPECT_NEAR(time_by(Form::kSerial, serial, 32), serial(32), 1e-9);
  EXPECT_NEAR(time_by(Form::kAmdahl, serial, 32), serial(32), 1e-6);
  EXPECT_NEAR(time_by(Form::kPowerLast, power, 32), power(32), 1e-9);
  EXPECT_NEAR(time_by(Form::kMedianLoss, power, 32), power(32), 1e-9);
  EXPECT_NEAR(time_by(Form::kErnest, logarithmic, 32), logarithmic(32), 1e-6);
}

TEST(ScalingForms, KeepAGainButDoNotAddToIt) {
  // The second count was disturbed; the third came back, and no law through the last two goes on.
  const ScalingSeries s = make_series("s", {{1, 1, 0}, {4, 1.2, 0}, {8, 4, 0}});
  for (const Form form : {Form::kRing, Form::kSerial, Form::kPowerLast, Form::kMedianLoss}) {
    EXPECT_LE(change_of(form, s, {16, 0, 0}), 0) << form_name(form);
  }
}

TEST(ScalingForms, OnePointSaysNothingButWhatOthersLose) {
  const ScalingSeries s = make_series("s", {{1, 5, 0}});
  EXPECT_EQ(change_of(Form::kSerial, s, {8, 0, 0}), 0);
  EXPECT_LT(change_of(Form::kTypicalLoss, s, {8, 0, 0}), 0);
}

ScalingSeries shared(Scaling scaling, const std::vector<ScalingPoint>& points) {
  ScalingSeries s = make_series("s", points);
  s.scaling = scaling;
  return s;
}

TEST(ScalingForms, AFixedGlobalBatchFollowsAmdahlsLaw) {
  // Time of one global batch: 0.1 + 0.9 / n.
  const auto rate = [](double n) { return 1 / (0.1 + 0.9 / n); };
  const ScalingSeries s =
      shared(Scaling::kStrong, {{1, rate(1), 1}, {2, rate(2), 1}, {4, rate(4), 1}});
  const double change = std::log(rate(16) / 16) - std::log(rate(4) / 4);
  for (const Form form : {Form::kShareLast, Form::kShareAll}) {
    EXPECT_NEAR(change_of(form, s, {16, 0, 1}), change, 1e-6) << form_name(form);
  }
}

TEST(ScalingForms, WhereBothBatchesChangeTheBatchOfEachCountIsUsed) {
  // A step takes 0.1 + 0.01 b on any number of workers.
  const auto point = [](double n, double b) {
    return ScalingPoint{n, n * b / (0.1 + 0.01 * b), 1, b};
  };
  const ScalingSeries s = shared(Scaling::kMixed, {point(1, 32), point(2, 32), point(4, 16)});
  const ScalingPoint target = point(8, 8);
  const double change = std::log(target.rate / 8) - std::log(s.points.back().rate / 4);
  for (const Form form : {Form::kShareLast, Form::kShareAll}) {
    EXPECT_NEAR(change_of(form, s, {8, 0, 1, 8}), change, 1e-6) << form_name(form);
    // Without a batch the last one is kept, and with it the efficiency.
    EXPECT_NEAR(change_of(form, s, {8, 0, 1}), 0, 1e-6) << form_name(form);
  }
}

}  // namespace
}  // namespace lockstep::predict
