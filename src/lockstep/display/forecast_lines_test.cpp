#include "lockstep/display/forecast_lines.h"

#include <gtest/gtest.h>

#include "lockstep/base/steered_clock.h"

namespace lockstep::display {
namespace {

record::RunStarted one_epoch_of(std::int64_t steps) {
  record::RunStarted started;
  started.spec.workers = 1;
  started.spec.epochs = 1;
  started.spec.batch_per_worker = 100;
  started.steps_per_epoch = steps;
  return started;
}

TEST(ForecastLines, CompareEarlyPredictionsWithTheEnd) {
  SteeredClock clock;
  predict::RunForecast forecast(one_epoch_of(1000), clock);
  for (int step = 10; step <= 1000; step += 10) {
    clock.now = step * Nanoseconds{10'000'000};
    forecast.update({1, step, 1000, 10'000, 1.0});
  }
  const auto lines = forecast_lines(forecast, 10);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_NE(lines[2].find("at 20 % of the steps"), std::string::npos);
  EXPECT_NE(lines[2].find("off by +0.0 %, within its 90 % interval"), std::string::npos)
      << lines[2];
}

TEST(ForecastLines, LeaveOutMarksWithTooFewStepsToPredictFrom) {
  SteeredClock clock;
  predict::RunForecast forecast(one_epoch_of(100), clock);
  for (int step = 1; step <= 100; ++step) {
    clock.now = step * Nanoseconds{10'000'000};
    forecast.update({1, step, 100, 10'000, 1.0});
  }
  const auto lines = forecast_lines(forecast, 1);
  ASSERT_EQ(lines.size(), 2u) << "one step of 100 is too few";
  EXPECT_TRUE(lines[0].starts_with("total predicted at  5 % of the steps")) << lines[0];
}

TEST(ForecastLines, AreEmptyForARunTooShortToPredict) {
  SteeredClock clock;
  predict::RunForecast forecast(one_epoch_of(10), clock);
  forecast.update({1, 10, 10, 1000, 1.0});
  EXPECT_TRUE(forecast_lines(forecast, 3).empty());
}

}  // namespace
}  // namespace lockstep::display
