#include "lockstep/predict/scaling/classic_models.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep::predict {
namespace {

ScalingSeries from_times(double (*step_time)(double)) {
  std::vector<ScalingPoint> points;
  for (double n : {1.0, 2.0, 4.0, 8.0}) points.push_back({n, n / step_time(n), 1});
  return make_series("s", points, 16);
}

TEST(ClassicModels, AmdahlRecoversASerialPart) {
  // rate = 1 / (0.1 + 0.9 / n)
  std::vector<ScalingPoint> points;
  for (double n : {1.0, 2.0, 4.0}) points.push_back({n, 1 / (0.1 + 0.9 / n), 0});
  const double rate = predict_classic(ClassicModel::kAmdahl, make_series("s", points), {16, 0, 0});
  EXPECT_NEAR(rate, 1 / (0.1 + 0.9 / 16), 1e-9);
}

TEST(ClassicModels, AmdahlOfTheLastTwoIgnoresWhatCameBefore) {
  const auto rate = [](double n) { return 1 / (0.2 + 0.8 / n); };
  const ScalingSeries s = make_series("s", {{1, 0.3, 0}, {4, rate(4), 0}, {8, rate(8), 0}});
  EXPECT_NEAR(predict_classic(ClassicModel::kAmdahlLast, s, {32, 0, 0}), rate(32), 1e-9);
}

TEST(ClassicModels, TheShrunkenPowerLawLosesHalfAsMuch) {
  const ScalingSeries s = make_series("s", {{1, 1, 0}, {2, 1.8, 0}});
  EXPECT_NEAR(predict_classic(ClassicModel::kPowerLaw, s, {4, 0, 0}), 4 * 0.81, 1e-9);
  EXPECT_NEAR(predict_classic(ClassicModel::kPowerOfAll, s, {4, 0, 0}), 4 * 0.81, 1e-9);
  EXPECT_NEAR(predict_classic(ClassicModel::kShrunkenPower, s, {4, 0, 0}), 4 * 0.9 * std::sqrt(0.9),
              1e-9);
}

TEST(ClassicModels, ErnestRecoversALogarithmicStepTime) {
  const ScalingSeries s = from_times([](double n) { return 2 + 0.3 * std::log(n); });
  EXPECT_NEAR(predict_classic(ClassicModel::kErnest, s, {16, 0, 1}), 16 / (2 + 0.3 * std::log(16)),
              1e-6);
}

TEST(ClassicModels, GoodputFollowsALinearSynchronisation) {
  const ScalingSeries s =
      from_times([](double n) { return 1 + (n > 1 ? 0.2 + 0.02 * (n - 2) : 0); });
  const double expected = 16 / (1 + 0.2 + 0.02 * 14);
  EXPECT_NEAR(predict_classic(ClassicModel::kGoodput, s, {16, 0, 1}), expected, 0.05 * expected);
}

TEST(ClassicModels, AllGivePositiveRatesOnOnePointAndOnSlowdowns) {
  for (int m = 0; m < kClassicCount; ++m) {
    const auto model = static_cast<ClassicModel>(m);
    for (const ScalingSeries& s : {make_series("one", {{2, 5, 0}}),
                                   make_series("slow", {{1, 5, 0}, {2, 3, 0}, {4, 1, 0}})}) {
      const double rate = predict_classic(model, s, {8, 0, 0});
      EXPECT_TRUE(std::isfinite(rate) && rate > 0) << classic_name(model);
    }
  }
}

}  // namespace
}  // namespace lockstep::predict
