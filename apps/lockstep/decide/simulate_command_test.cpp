#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "command_line/command_fixture.h"

namespace lockstep::cli {
namespace {

class SimulateCommand : public CommandTest {
 protected:
  CommandOutcome simulate(const std::string& words) const {
    return run("simulate " + words, {add_simulate_command});
  }
};

TEST_F(SimulateCommand, TakesAStatedStepToManyWorkers) {
  const CommandOutcome outcome = simulate(
      "--compute 120ms --gradients 100MB --batch 64 --workers 8..4096 --per-host 8 --inside "
      "300GB/s,2us --link 200Gbit,2us --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(json.at("points").size(), 10u);
  double before = 0;
  for (const auto& point : json.at("points")) {
    EXPECT_EQ(point.at("kind"), "simulated");
    EXPECT_GT(point.at("examples_per_s").at("value").get<double>(), before);
    before = point.at("examples_per_s").at("value").get<double>();
    EXPECT_LE(point.at("efficiency").get<double>(), 1.0);
  }
}

TEST_F(SimulateCommand, PrintsATableWithItsAssumptions) {
  const CommandOutcome outcome = simulate("--compute 120ms --gradients 100MB --workers 1,8");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* words :
       {"efficiency", "simulated, not measured", "more workers pay off up to 8"}) {
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << "\n" << outcome.out;
  }
  EXPECT_NE(simulate("--compute 120ms --gradients 100MB --workers 8 --csv").out.find("\n8,8,"),
            std::string::npos);
}

TEST_F(SimulateCommand, ComparesAndSweeps) {
  const std::string step = "--compute 120ms --gradients 400MB --workers 64 --link 10Gbit,5us ";
  const CommandOutcome compared =
      simulate(step + "--compare wire=fp16 --compare algorithm=central --csv");
  ASSERT_EQ(compared.code, 0) << compared.err;
  EXPECT_NE(compared.out.find("wire=fp16,64"), std::string::npos) << compared.out;
  const CommandOutcome swept = simulate(step + "--sweep link=10..40Gbit --csv");
  EXPECT_NE(swept.out.find("link=40Gbit,64"), std::string::npos) << swept.out;
  const CommandOutcome notes = simulate(step + "--sweep link=10..40Gbit");
  EXPECT_NE(notes.out.find("about the first scenario, link=10Gbit"), std::string::npos);
  EXPECT_NE(notes.out.find("1.25 GB/s, 5.00 us (as stated)"), std::string::npos) << notes.out;
  const CommandOutcome central = simulate(step + "--algorithm central");
  EXPECT_NE(central.out.find("a link saturates: link of rank 0's host"), std::string::npos)
      << central.out;
}

TEST_F(SimulateCommand, AddsFailures) {
  const CommandOutcome outcome = simulate(
      "--compute 120ms --gradients 100MB --batch 64 --workers 1024 --per-host 8 --mttf 50000h "
      "--epochs 90 --examples 1281167 --work 20d --repair 4h --min-workers 512 --price 2 --csv");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("goodput_percent"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\n1024,fewer,"), std::string::npos) << outcome.out;
  const std::string job = "--compute 120ms --gradients 100MB --workers 64 --work 30d ";
  EXPECT_EQ(simulate(job + "--mttf 50000h --restart 0s --repair 0s").code, 0);
  const CommandOutcome endless = simulate(job + "--mttf 1s --json");
  ASSERT_EQ(endless.code, 0) << endless.err;
  const auto forecast = nlohmann::json::parse(endless.out.substr(endless.out.find('\n') + 1));
  EXPECT_TRUE(forecast.at("best_interval_s").is_null());
  EXPECT_TRUE(forecast.at("all_needed").is_null());
}

TEST_F(SimulateCommand, RefusesWhatCannotBeSimulated) {
  const std::string step = "--compute 120ms --gradients 100MB ";
  const std::pair<std::string, int> wrong[] = {
      {"", 2},
      {step + "--workers 0", 2},
      {step + "--link 0Gbit,2us", 2},
      {step + "--topology mesh", 2},
      {step + "--algorithm magic", 2},
      {step + "--compare colour=red", 2},
      {step + "--sweep link=9..1Gbit", 2},
      {step + "--mttf 100h", 2},
      {step + "--workers 1000000000", 2},
      {step + "--topology torus:1000000x1000000", 2},
      {step + "--workers 64 --topology torus:1000000x9", 2},
      {step + "--workers 1000000 --background 10%", 2},
      {step + "--seed 0.5", 2},
      {step + "--accumulate 10000000", 2},
      {step + "--mttf 100h --work 1d --checkpoint 0s", 2},
      {step + "--checkpoint 60s", 2},
      {step + "--mttf 50000 --work 30d", 2},
      {step + "--workers 8 --per-host 16", 2},
      {step + "--link fast", 2},
      {step + "--compare bucket", 2},
      {step + "--compare wire=fp16 --sweep nics=1,2", 2},
      {step + "--hosts-per-switch 8", 2},
      {step + "--topology racks.xml --link 1Gbit", 2},
      {step + "--workers 8 --mttf 100h --work 1d "
              "--repair 1h --min-workers 9",
       2},
      {"--run 3", 4},
      {"--compute 120ms", 4}};
  for (const auto& [words, code] : wrong) {
    const CommandOutcome outcome = simulate(words);
    EXPECT_EQ(outcome.code, code) << words << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find("error: "), std::string::npos) << words;
    EXPECT_NE(outcome.err.find("hint: "), std::string::npos) << words;
  }
  EXPECT_NE(simulate(step + "--accumulate 0").err.find("from 1 to 1000000"), std::string::npos);
  EXPECT_NE(simulate(step + "--link fast").err.find("--link 'fast' is not"), std::string::npos);
  EXPECT_NE(simulate(step + "--compare bucket").err.find("bucket has no value"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::cli
