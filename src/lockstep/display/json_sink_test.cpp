#include "lockstep/display/json_sink.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lockstep/base/steered_clock.h"

namespace lockstep::display {
namespace {

/// What a sink printed of a synthetic run of 2 epochs of 100 steps, 10 ms each, and no validation.
std::vector<nlohmann::json> lines_of_a_run() {
  std::FILE* out = std::tmpfile();
  const SteeredClock quiet;
  SteeredClock clock;
  {
    Console console(out, stderr, false, quiet);
    JsonSink sink(console, clock);
    record::RunStarted started;
    started.spec.epochs = 2;
    started.spec.batch_per_worker = 128;
    started.steps_per_epoch = 100;
    sink.write(started);
    for (int epoch = 1; epoch <= 2; ++epoch) {
      for (int step = 4; step <= 100; step += 4) {
        clock.now += 40'000'000;
        sink.write(record::Progress{epoch, step, 100, 12'800, 1.0});
      }
      record::EpochResult result;
      result.epoch = epoch;
      result.train_s = 1;
      sink.write(result);
    }
    record::RunEnded ended;
    ended.total_s = 2;
    sink.write(ended);
  }
  std::rewind(out);
  std::string text;
  for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out)) text += static_cast<char>(c);
  std::fclose(out);
  std::vector<nlohmann::json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

TEST(JsonSink, ForecastsTheTotalFromTheFirstDozenStepsOnByTheStepOfTheRun) {
  std::vector<nlohmann::json> forecasts;
  for (const auto& line : lines_of_a_run()) {
    if (line["type"] == "forecast") forecasts.push_back(line);
  }
  ASSERT_FALSE(forecasts.empty());
  EXPECT_LE(forecasts.front()["step"], 16);
  EXPECT_EQ(forecasts.back()["step"], 200);
  EXPECT_EQ(forecasts.back()["steps"], 200);
  for (const auto& forecast : forecasts) {
    EXPECT_LE(forecast["total_s"]["low"], 2.001) << forecast;
    EXPECT_GE(forecast["total_s"]["high"], 1.999) << forecast;
  }
}

TEST(JsonSink, RatesItsForecastsBeforeTheEndOfTheRun) {
  const auto lines = lines_of_a_run();
  ASSERT_GE(lines.size(), 2u);
  const auto& verdict = lines[lines.size() - 2];
  EXPECT_EQ(lines.back()["type"], "run_ended");
  ASSERT_EQ(verdict["type"], "forecast_verdict");
  ASSERT_EQ(verdict["marks"].size(), 3u);
  EXPECT_TRUE(verdict["marks"][0]["predicted_s"].is_null());
  EXPECT_EQ(verdict["marks"][2]["at"], 0.2);
  EXPECT_TRUE(verdict["marks"][2]["within"]);
  EXPECT_NEAR(verdict["marks"][2]["error"].get<double>(), 0, 0.05);
}

TEST(JsonSink, PrintsLinesThatReadersOfRunsPassOver) {
  for (const auto& line : lines_of_a_run()) {
    const bool own = line["type"].get<std::string>().starts_with("forecast");
    EXPECT_EQ(record::from_line(line.dump()).has_value(), !own) << line;
  }
}

}  // namespace
}  // namespace lockstep::display
