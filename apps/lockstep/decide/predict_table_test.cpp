#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "command_line/command_fixture.h"
#include "lockstep/base/rng.h"

namespace lockstep::cli {
namespace {

/// `predict --from TABLE --series-column series --hold-out largest --json` on whatever a table may
/// hold.
class PredictTable : public CommandTest {
 protected:
  CommandOutcome hold_out(const std::string& text) const {
    const std::string path = folder_ + "/table.csv";
    std::ofstream(path, std::ios::binary) << text;
    return run("predict --json --series-column series --hold-out largest --from " + path,
               {&add_predict_command});
  }

  /// The objects by series; a series has one object.
  std::map<std::string, nlohmann::json> objects(const CommandOutcome& outcome) const {
    std::map<std::string, nlohmann::json> result;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) {
      const auto json = nlohmann::json::parse(line);
      EXPECT_TRUE(result.emplace(json.at("series"), json).second) << line;
    }
    return result;
  }
};

/// A number with an ordered interval around it, or a sentence instead.
void expect_answer(const nlohmann::json& json) {
  if (json.at("predicted").is_null()) {
    EXPECT_NE(json.at("reason"), "") << json;
    return;
  }
  const double low = json.at("low");
  const double high = json.at("high");
  const double predicted = json.at("predicted");
  EXPECT_TRUE(std::isfinite(low) && std::isfinite(high)) << json;
  EXPECT_GT(low, 0) << json;
  EXPECT_LE(low, predicted) << json;
  EXPECT_LE(predicted, high) << json;
}

constexpr const char* kHeader = "series,model,device,workers,batch_per_worker,metric,value,unit\n";

TEST_F(PredictTable, ABadValueCostsItsRowAndNotTheOtherSeries) {
  const CommandOutcome outcome = hold_out(std::string(kHeader) +
                                          "good,net,t4,1,32,throughput,100,samples/s\n"
                                          "good,net,t4,2,32,throughput,190,samples/s\n"
                                          "good,net,t4,4,32,throughput,360,samples/s\n"
                                          "zero,net,t4,1,32,throughput,100,samples/s\n"
                                          "zero,net,t4,2,32,throughput,0,samples/s\n"
                                          "zero,net,t4,4,32,throughput,300,samples/s\n"
                                          "words,net,t4,1,32,throughput,fast,samples/s\n"
                                          "words,net,t4,two,32,throughput,200,samples/s\n"
                                          "words,net,t4,4,32,throughput,nan,samples/s\n"
                                          "unit,net,t4,1,32,step_time,100,furlongs\n"
                                          "unit,net,t4,2,32,step_time,-3,ms\n"
                                          "unit,net,t4,4,32,step_time,120,ms\n");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto found = objects(outcome);
  EXPECT_EQ(found.at("good").at("actual"), 360);
  EXPECT_EQ(found.at("zero").at("actual"), 300);
  EXPECT_TRUE(found.at("unit").at("predicted").is_null());
  for (const auto& [name, json] : found) expect_answer(json);
  EXPECT_NE(outcome.err.find("line 6: throughput is 0"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("more rows are left out"), std::string::npos) << outcome.err;
}

TEST_F(PredictTable, CountsThatNoJobHasAreLeftOutAndNamed) {
  const CommandOutcome outcome = hold_out(std::string(kHeader) +
                                          "a,net,t4,1,32,throughput,100,samples/s\n"
                                          "a,net,t4,2,32,throughput,190,samples/s\n"
                                          "a,net,t4,100000000000000,32,throughput,9,samples/s\n");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto json = objects(outcome).at("a");
  EXPECT_EQ(json.at("workers"), 2);
  EXPECT_EQ(json.at("notes").size(), 1u);
}

TEST_F(PredictTable, NothingUsableAtAllIsAnErrorOfTheData) {
  const CommandOutcome outcome =
      hold_out(std::string(kHeader) + "a,net,t4,1,32,throughput,0,samples/s\n");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_NE(outcome.err.find("hint:"), std::string::npos);
}

TEST_F(PredictTable, NamesInAnyEncodingAndLineEndsOfAnySystem) {
  const CommandOutcome outcome = hold_out(
      "series,workers,metric,value,unit\r\n"
      "na\xefve,1,throughput,100,samples/s\r\n"
      "na\xefve,2,throughput,190,samples/s\r\n"
      ",4,throughput,300,samples/s\r\n");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  ASSERT_EQ(objects(outcome).size(), 1u);
  expect_answer(objects(outcome).begin()->second);
  EXPECT_NE(outcome.err.find("1 row has no value"), std::string::npos) << outcome.err;
}

TEST_F(PredictTable, EverySeriesGetsANumberOrASentence) {
  Rng rng(29);
  const std::vector<std::string> odd{"0", "-3", "nan", "inf", "1e308", "4.9e-324", "fast", ""};
  const std::vector<std::string> metrics{"throughput", "step_time", "epoch_time", "total_time"};
  int numbers = 0;
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    const bool counted = rng.below(2) == 0;
    std::string text = counted ? "series,nodes,workers,global_batch,metric,value,unit\n"
                               : "series,nodes,workers,metric,value,unit\n";
    for (int series = 0; series < 30; ++series) {
      const std::string& metric = metrics[rng.below(metrics.size())];
      const double spread = series % 3 == 0 ? 5 : 0.3;
      const auto points = 1 + rng.below(7);
      for (std::uint64_t i = 0; i < points; ++i) {
        const auto workers = series % 5 == 0 ? 1 + rng.below(1'000'000'000) : 1 + rng.below(33);
        const std::string value = rng.below(12) == 0
                                      ? odd[rng.below(odd.size())]
                                      : fmt::format("{}", std::exp(spread * rng.normal()));
        text += fmt::format("s{},{},{},{}{},{},{}\n", series, rng.below(4) == 0 ? "2" : "", workers,
                            counted ? "64," : "", metric, value,
                            metric == "throughput" ? "samples/s"
                            : rng.below(9) == 0    ? "ms"
                                                   : "s");
      }
    }
    const CommandOutcome outcome = hold_out(text);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    for (const auto& [name, json] : objects(outcome)) {
      expect_answer(json);
      numbers += !json.at("predicted").is_null();
    }
  }
  EXPECT_GT(numbers, 1000);
}

}  // namespace
}  // namespace lockstep::cli
