#include "lockstep/predict/advice.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"

namespace lockstep::predict {
namespace {

TableSeries epochs_on(const std::string& device,
                      const std::vector<std::pair<double, double>>& times) {
  TableSeries table;
  table.name = table.device = device;
  table.metric = Metric::kEpochTime;
  std::vector<ScalingPoint> points;
  for (const auto& [workers, seconds] : times) points.push_back({workers, 1 / seconds, 1});
  table.series = make_series(device, points, 64);
  return table;
}

AdviceQuestion question_on(std::vector<TableSeries> measured) {
  AdviceQuestion question;
  question.measured = std::move(measured);
  question.epochs = 10;
  question.max_workers = 8;
  return question;
}

TEST(Advice, StopsAddingWorkersWhenDoublingGainsLittle) {
  // 100, 52, 28, 26 s: eight workers are 1.08 times as fast as four for twice the devices.
  const Advice advice =
      advise(question_on({epochs_on("v100", {{1, 100}, {2, 52}, {4, 28}, {8, 26}})}));
  EXPECT_EQ(advice.candidates[advice.chosen].workers, 4);
  EXPECT_FALSE(advice.why.empty());
  ASSERT_TRUE(advice.more_is_slower);
  EXPECT_LT(*advice.more_is_slower, 0.5);
}

TEST(Advice, MeetsADeadlineAtTheLeastCost) {
  AdviceQuestion question = question_on({epochs_on("v100", {{1, 100}, {2, 52}, {4, 28}, {8, 26}})});
  question.deadline_s = 600;
  EXPECT_EQ(advise(question).candidates[advise(question).chosen].workers, 2);
  question.deadline_s = 265;
  const Advice tight = advise(question);
  EXPECT_EQ(tight.candidates[tight.chosen].workers, 8);
  question.deadline_s = 10;
  EXPECT_FALSE(advise(question).feasible);
}

TEST(Advice, TakesTheFastestWithinABudget) {
  AdviceQuestion question =
      question_on({epochs_on("t4", {{1, 200}, {2, 104}}), epochs_on("v100", {{1, 75}, {2, 40}})});
  question.price_per_hour = {{"t4", 0.35}, {"v100", 2.48}};
  question.max_workers = 2;
  question.budget = 0.25;
  const Advice advice = advise(question);
  EXPECT_EQ(advice.candidates[advice.chosen].device, "t4");
  EXPECT_EQ(advice.candidates[advice.chosen].workers, 2);
  // Nothing is as cheap as this: what comes nearest is the cheapest, not the fastest.
  question.budget = 1e-4;
  const Advice poor = advise(question);
  EXPECT_FALSE(poor.feasible);
  for (const Candidate& one : poor.candidates) {
    EXPECT_GE(one.cost.value, poor.candidates[poor.chosen].cost.value);
  }
  question.price_per_hour.erase("t4");
  EXPECT_THROW(advise(question), Error);
}

TEST(Advice, NoCandidateOfTheParetoSetIsBeatenOnBothCounts) {
  const Advice advice = advise(question_on({epochs_on("v100", {{1, 100}, {2, 120}, {4, 40}})}));
  for (const Candidate& one : advice.candidates) {
    for (const Candidate& other : advice.candidates) {
      EXPECT_FALSE(one.pareto && other.time_s.value < one.time_s.value &&
                   other.cost.value < one.cost.value);
    }
  }
}

TEST(Advice, NamesTheRunThatWouldTellMoreUntilNothingWould) {
  const Advice little = advise(question_on({epochs_on("v100", {{1, 100}})}));
  ASSERT_TRUE(little.next);
  EXPECT_GT(little.next->workers, 1);
  EXPECT_GT(little.next->changes_decision, 0.1);
  EXPECT_TRUE(little.next->epoch_s);
  const Advice enough =
      advise(question_on({epochs_on("v100", {{1, 100}, {2, 52}, {4, 28}, {8, 26}})}));
  EXPECT_FALSE(enough.next);
}

TEST(Advice, AMoreExpensiveDeviceThatIsNotFasterIsNotTaken) {
  // 4 T4 and 4 V100 take 81 and 80 s an epoch: the input pipeline is the limit, not the device.
  AdviceQuestion question =
      question_on({epochs_on("t4", {{2, 209}, {4, 81}}), epochs_on("v100", {{4, 80}, {8, 44}})});
  question.price_per_hour = {{"t4", 0.35}, {"v100", 2.48}};
  const Advice advice = advise(question);
  EXPECT_EQ(advice.candidates[advice.chosen].device, "t4");
}

TEST(Advice, SpeaksOfMoreWorkersByTheTimesItShows) {
  // Eight workers take longer than four: that they are slower is all but sure.
  const Advice advice =
      advise(question_on({epochs_on("v100", {{1, 100}, {2, 52}, {4, 28}, {8, 40}})}));
  ASSERT_EQ(advice.candidates[advice.chosen].workers, 4);
  EXPECT_EQ(advice.more_workers, 8);
  EXPECT_GT(*advice.more_is_slower, 0.99);
}

TEST(Advice, APredictedChoiceIsGivenWithTheBestOfTheCountsThatWereRun) {
  const Advice advice = advise(question_on({epochs_on("v100", {{1, 100}, {2, 51}, {4, 26}})}));
  ASSERT_EQ(advice.candidates[advice.chosen].workers, 8);
  ASSERT_TRUE(advice.best_measured);
  EXPECT_EQ(advice.candidates[*advice.best_measured].workers, 4);
}

TEST(Advice, WhatWouldChangeIsNeverWhatTheLimitsAlreadySay) {
  AdviceQuestion question = question_on({epochs_on("v100", {{1, 100}, {2, 58}, {4, 32}, {8, 30}})});
  question.deadline_s = 620;
  const Advice advice = advise(question);
  ASSERT_EQ(advice.would_change.size(), 2u);
  EXPECT_NE(advice.would_change[0].find("would need 4 workers"), std::string::npos)
      << advice.would_change[0];
  EXPECT_NE(advice.would_change[1].find("would allow 1 worker"), std::string::npos)
      << advice.would_change[1];
}

TEST(Advice, NamesTheSmallestMeasuredCountWhenFewerMayBeUsed) {
  AdviceQuestion question = question_on({epochs_on("v100", {{4, 28}, {8, 26}})});
  question.max_workers = 2;
  try {
    advise(question);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("smallest measured count is 4"), std::string::npos);
  }
}

TEST(Advice, SaysWhenNothingCanBeCompared) {
  TableSeries table = epochs_on("v100", {{1, 100}});
  table.metric = Metric::kThroughput;
  EXPECT_THROW(advise(question_on({table})), Error);
  EXPECT_THROW(advise(question_on({})), Error);
}

TEST(Advice, AlwaysChoosesSomethingSane) {
  Rng rng(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::pair<double, double>> times;
    for (double n = 1; n <= 8; n *= 2) {
      if (rng.below(3) != 0) times.emplace_back(n, std::exp(3 * rng.normal()));
    }
    if (times.empty()) continue;
    AdviceQuestion question = question_on({epochs_on("v100", times)});
    if (round % 3 == 1) question.deadline_s = std::exp(3 * rng.normal());
    if (round % 3 == 2) question.budget = std::exp(3 * rng.normal());
    const Advice advice = advise(question);
    ASSERT_LT(advice.chosen, advice.candidates.size());
    EXPECT_GT(advice.candidates[advice.chosen].time_s.value, 0);
    EXPECT_FALSE(advice.why.empty());
  }
}

}  // namespace
}  // namespace lockstep::predict
