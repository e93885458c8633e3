#include "lockstep/advise/job_advice.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/analyze/measurement_rows.h"
#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"

namespace lockstep::advise {
namespace {

using analyze::MeasurementRows;

/// What was measured, kept alive for the advice about it.
struct Table {
  explicit Table(std::vector<record::Measurement> measured)
      : rows(std::move(measured)),
        configurations(analyze::configurations(rows)),
        groups(analyze::speedups(configurations)) {}

  std::vector<JobAdvice> advice(const Terms& terms = {},
                                std::map<std::string, std::int64_t> rooms = {}) const {
    return advise({configurations, groups, predict::job_series(rows, predict::RowsFrom::kTable),
                   std::move(rooms)},
                  terms);
  }

  std::vector<record::Measurement> rows;
  std::vector<analyze::Configuration> configurations;
  std::vector<analyze::SpeedupGroup> groups;
};

std::vector<record::Measurement> epochs_on(const std::string& device,
                                           const std::vector<std::pair<int, double>>& times) {
  MeasurementRows rows;
  rows.device = device;
  for (const auto& [workers, seconds] : times) {
    rows.at_global(workers, 512, "epoch_time", seconds);
  }
  return rows.rows;
}

TEST(JobAdvice, RecommendsNothingWhereRanksNeverCommunicated) {
  const auto measured = [](double sync_s) {
    MeasurementRows rows;
    for (const int workers : {1, 2}) {
      rows.at_local(workers, 32, "throughput", 100.0 * workers);
      rows.at_local(workers, 32, "step_time", 0.1).at_local(workers, 32, "compute_time", 0.1);
      rows.at_local(workers, 32, "sync_time", workers > 1 ? sync_s : 0);
    }
    return Table(rows.rows);
  };
  EXPECT_THROW(measured(0).advice(), Error);
  EXPECT_NO_THROW(measured(0.001).advice());
}

Terms for_ten_epochs() {
  Terms terms;
  terms.epochs = 10;
  terms.max_workers = 8;
  return terms;
}

JobAdvice one_job(const std::vector<record::Measurement>& rows, const Terms& terms) {
  const auto all = Table(rows).advice(terms);
  EXPECT_EQ(all.size(), 1u);
  return all.front();
}

TEST(JobAdvice, WorkersOfSeveralThreadsCostTheirCores) {
  // One worker of two threads takes 11 s, two workers of one take 10: the same two cores.
  std::vector<record::Measurement> rows = epochs_on("cpu", {{1, 19}, {2, 10}});
  for (record::Measurement& row : rows) row.threads_per_worker = 1;
  for (record::Measurement row : epochs_on("cpu", {{1, 11}})) {
    row.threads_per_worker = 2;
    rows.push_back(row);
  }
  const JobAdvice job = Table(rows).advice().at(0);
  EXPECT_NE(job.sentence().find("Use 2 workers, threads_per_worker=1"), std::string::npos)
      << job.sentence();
}

TEST(JobAdvice, TakesCountsBeyondTheMeasuredOnesFromASimulation) {
  MeasurementRows rows;
  for (const int workers : {1, 2}) rows.at_local(workers, 32, "throughput", 100.0 * workers);
  for (record::Measurement& row : rows.rows) row.examples = 60'000;
  Terms terms;
  terms.epochs = 1;
  terms.max_workers = 8;
  terms.simulated = [](const predict::TableSeries&, double workers) {
    return std::optional<predict::Estimate>({90 * workers, 80 * workers, 95 * workers});
  };
  const JobAdvice job = one_job(rows.rows, terms);
  for (const Candidate& one : job.candidates) {
    EXPECT_EQ(one.origin == Origin::kSimulated, one.workers > 2) << one.workers;
    if (one.workers != 8) continue;
    EXPECT_NEAR(one.time_s.value, 60'000 / 720.0, 1e-9);
    EXPECT_NEAR(one.time_s.high, 60'000 / 640.0, 1e-9);
  }
  EXPECT_TRUE(job.chosen().was_run()) << "a simulated count is an alternative, not the advice";
}

TEST(JobAdvice, NamesTheTimeOutsideTheEpochsWhereItIsMostOfTheTime) {
  // Two epochs of 9 and 3 s in runs of 44 and 48 s: two workers pay, though the runs took longer.
  MeasurementRows rows;
  rows.at_local(1, 32, "epoch_time", 9).at_local(2, 32, "epoch_time", 3);
  rows.at_local(1, 32, "total_time", 44).at_local(2, 32, "total_time", 48);
  for (record::Measurement& row : rows.rows) row.epochs = 2;
  const JobAdvice job = Table(rows.rows).advice().at(0);
  EXPECT_NE(job.sentence().find(
                "Use 2 workers: 48.0 s for 2 epochs (measured, 42.0 s of it outside the epochs)"),
            std::string::npos)
      << job.sentence();
  ASSERT_FALSE(job.caveats.empty());
  EXPECT_NE(job.caveats[0].find("1 worker took less time in total (44.0 s), but more per epoch"),
            std::string::npos)
      << job.caveats[0];
}

const std::string& device_of(const JobAdvice& job) {
  return job.series[job.chosen().series].device;
}

TEST(Advice, StopsAddingWorkersWhereAStepGivesLessThanHalfOfItsDevicesGain) {
  // 100, 52, 28, 26 s: eight workers are 1.08 times as fast as four for twice the devices.
  const JobAdvice job =
      one_job(epochs_on("v100", {{1, 100}, {2, 52}, {4, 28}, {8, 26}}), for_ten_epochs());
  EXPECT_EQ(job.chosen().workers, 4);
  ASSERT_FALSE(job.why.empty());
  EXPECT_NE(job.why[0].find("the step to 8 workers gave 8 % of the ideal gain"), std::string::npos)
      << job.why[0];
  ASSERT_TRUE(job.more_is_slower);
  EXPECT_LT(*job.more_is_slower, 0.5);
}

TEST(Advice, APredictionIsAnAlternativeNotTheChoice) {
  const JobAdvice job = one_job(epochs_on("v100", {{1, 100}, {2, 51}, {4, 26}}), for_ten_epochs());
  EXPECT_EQ(job.chosen().workers, 4);
  const auto names_eight = [](const std::string& text) {
    return text.find(": 8 workers") != std::string::npos &&
           text.find("measure it before relying on it") != std::string::npos;
  };
  EXPECT_EQ(std::count_if(job.alternatives.begin(), job.alternatives.end(), names_eight), 1);
}

TEST(Advice, MeetsADeadlineAtTheLeastCostAndByAPredictionOnlyWhereNothingElseDoes) {
  const auto rows = epochs_on("v100", {{1, 100}, {2, 52}, {4, 28}});
  Terms terms = for_ten_epochs();
  terms.deadline_s = 600;
  EXPECT_EQ(one_job(rows, terms).chosen().workers, 2);
  terms.deadline_s = 250;
  const JobAdvice tight = one_job(rows, terms);
  EXPECT_EQ(tight.chosen().workers, 8);
  EXPECT_FALSE(tight.chosen().was_run());
  EXPECT_TRUE(tight.choice.feasible);
  terms.deadline_s = 10;
  EXPECT_FALSE(one_job(rows, terms).choice.feasible);
}

TEST(Advice, TakesTheFastestWithinABudget) {
  auto rows = epochs_on("t4", {{1, 200}, {2, 104}});
  for (const auto& row : epochs_on("v100", {{1, 75}, {2, 40}})) rows.push_back(row);
  Terms terms = for_ten_epochs();
  terms.price_per_hour = {{"t4", 0.35}, {"v100", 2.48}};
  terms.max_workers = 2;
  terms.budget = 0.25;
  const JobAdvice job = one_job(rows, terms);
  EXPECT_EQ(device_of(job), "t4");
  EXPECT_EQ(job.chosen().workers, 2);
  // Nothing is as cheap as this: what comes nearest is the cheapest, not the fastest.
  terms.budget = 1e-4;
  const JobAdvice poor = one_job(rows, terms);
  EXPECT_FALSE(poor.choice.feasible);
  for (const Candidate& one : poor.candidates) {
    EXPECT_GE(one.cost.value, poor.chosen().cost.value);
  }
  terms.price_per_hour.erase("t4");
  EXPECT_THROW(one_job(rows, terms), Error);
}

TEST(Advice, NoCandidateOfTheParetoSetIsBeatenOnBothCounts) {
  const JobAdvice job = one_job(epochs_on("v100", {{1, 100}, {2, 120}, {4, 40}}), for_ten_epochs());
  for (const Candidate& one : job.candidates) {
    for (const Candidate& other : job.candidates) {
      EXPECT_FALSE(one.pareto && other.time_s.value < one.time_s.value &&
                   other.cost.value < one.cost.value);
    }
  }
}

TEST(Advice, NamesTheRunToMakeNextUntilNoneWouldChangeTheChoice) {
  const JobAdvice little = one_job(epochs_on("v100", {{1, 100}}), for_ten_epochs());
  ASSERT_TRUE(little.next);
  EXPECT_GT(little.next->workers, 1);
  EXPECT_GT(little.next->changes_choice, 0.1);
  EXPECT_TRUE(little.next->epoch_s);
  EXPECT_FALSE(
      one_job(epochs_on("v100", {{1, 100}, {2, 52}, {4, 28}, {8, 26}}), for_ten_epochs()).next);
}

TEST(Advice, AsksForNoRunThatTheHostHasNoRoomFor) {
  MeasurementRows rows;
  rows.at_global(1, 512, "epoch_time", 100).at_global(2, 512, "epoch_time", 51);
  const auto all = Table(rows.rows).advice({}, {{"net", 2}});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_FALSE(all[0].next);
  EXPECT_NE(all[0].sentence().find("but the host has room for 2"), std::string::npos)
      << all[0].sentence();
}

TEST(Advice, AMoreExpensiveDeviceThatIsNotFasterIsNotTaken) {
  // 4 T4 and 4 V100 take 81 and 80 s per epoch: the input pipeline is the limit, not the device.
  auto rows = epochs_on("t4", {{2, 209}, {4, 81}});
  for (const auto& row : epochs_on("v100", {{4, 80}, {8, 44}})) rows.push_back(row);
  Terms terms = for_ten_epochs();
  terms.price_per_hour = {{"t4", 0.35}, {"v100", 2.48}};
  EXPECT_EQ(device_of(one_job(rows, terms)), "t4");
}

TEST(Advice, WhatLearnedLessIsPassedOver) {
  MeasurementRows rows;
  for (const auto& [batch, seconds, accuracy] : {std::tuple{32, 20.0, 0.91}, {512, 10.0, 0.81}}) {
    rows.at_local(1, batch, "epoch_time", seconds).at_local(1, batch, "val_accuracy", accuracy);
    rows.at_local(2, batch, "epoch_time", seconds * 0.55);
    rows.at_local(2, batch, "val_accuracy", accuracy);
  }
  const JobAdvice job = Table(rows.rows).advice().front();
  EXPECT_EQ(job.labels[job.chosen().series], "b = 32");
  ASSERT_TRUE(job.choice.passed_over);
  EXPECT_NE(job.alternatives[0].find("learned less in the same number of epochs"),
            std::string::npos);
}

TEST(Advice, WhatWouldChangeIsNeverWhatTheLimitsAlreadySay) {
  Terms terms = for_ten_epochs();
  terms.deadline_s = 620;
  const JobAdvice job = one_job(epochs_on("v100", {{1, 100}, {2, 58}, {4, 32}, {8, 30}}), terms);
  ASSERT_EQ(job.would_change.size(), 2u);
  EXPECT_NE(job.would_change[0].find("would require 4 workers"), std::string::npos)
      << job.would_change[0];
  EXPECT_NE(job.would_change[1].find("would allow 1 worker"), std::string::npos)
      << job.would_change[1];
}

TEST(Advice, NamesTheSmallestMeasuredCountWhenFewerMayBeUsed) {
  Terms terms = for_ten_epochs();
  terms.max_workers = 2;
  try {
    one_job(epochs_on("v100", {{4, 28}, {8, 26}}), terms);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("smallest measured count is 4"), std::string::npos);
  }
}

TEST(Advice, OfAMeasuredEpochTimesEpochsIsDerivedNotPredicted) {
  const JobAdvice job = one_job(epochs_on("v100", {{1, 40}, {2, 21}}), for_ten_epochs());
  EXPECT_EQ(job.chosen().workers, 2);
  EXPECT_EQ(job.chosen().origin, Origin::kDerived);
  EXPECT_DOUBLE_EQ(job.chosen().time_s.value, 210);
  EXPECT_NE(job.sentence().find("(derived from measured times)"), std::string::npos)
      << job.sentence();
  EXPECT_NE(job.sentence().find("4 would be"), std::string::npos) << job.sentence();
  EXPECT_NE(job.sentence().find(", predicted"), std::string::npos) << job.sentence();
}

TEST(Advice, OfWholeRunsThatWereTimedIsMeasured) {
  MeasurementRows rows;
  rows.at_global(1, 512, "total_time", 40).at_global(2, 512, "total_time", 21);
  const JobAdvice job = Table(rows.rows).advice().front();
  EXPECT_EQ(job.chosen().workers, 2);
  EXPECT_EQ(job.chosen().origin, Origin::kMeasured);
  EXPECT_NE(job.sentence().find("21.0 s for the whole run (measured)"), std::string::npos)
      << job.sentence();
}

TEST(Advice, FollowsFromEpochTimesWhereTheExamplesOfARateAreUnknown) {
  MeasurementRows rows;
  for (const auto& [workers, seconds] : {std::pair{1, 40.0}, {2, 21.0}}) {
    rows.at_global(workers, 512, "throughput", 1000 / seconds);
    rows.rows.back().examples.reset();
    rows.at_global(workers, 512, "epoch_time", seconds);
    rows.rows.back().examples.reset();
  }
  const auto all = Table(rows.rows).advice();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].chosen().workers, 2);
  EXPECT_DOUBLE_EQ(all[0].chosen().time_s.value, 21);
  EXPECT_EQ(all[0].chosen().origin, Origin::kMeasured);
}

TEST(Advice, DoesNotRelyOnAGainThatOtherProgramsCaused) {
  std::vector<record::Measurement> rows = epochs_on("cpu", {{1, 30}, {2, 10}});
  EXPECT_EQ(Table(rows).advice().at(0).chosen().workers, 2);
  rows.front().disturbed = "45 % of the CPU time";
  const JobAdvice job = Table(rows).advice().at(0);
  EXPECT_EQ(job.chosen().workers, 1);
  EXPECT_NE(job.why.at(0).find("more than the ideal gain, but other programs ran"),
            std::string::npos)
      << job.why.at(0);
  EXPECT_NE(job.caveats.back().find("1 cpu, b = 512, B = 512 (45 % of the CPU time)"),
            std::string::npos)
      << job.caveats.back();
  EXPECT_TRUE(job.disturbed);
}

TEST(Advice, IsNoSurerOfWholeRunsThanTheirRepeats) {
  MeasurementRows rows;
  for (const auto& [workers, seconds] : {std::pair{1, 18.0}, {1, 14.0}, {2, 17.0}, {2, 16.0}}) {
    rows.at_global(workers, 512, "epoch_time", seconds / 2).note("epochs", "2");
    rows.at_global(workers, 512, "total_time", seconds).note("epochs", "2");
  }
  const JobAdvice job = Table(rows.rows).advice().at(0);
  EXPECT_LT(job.chosen().time_s.low, 14.1);
  EXPECT_GT(job.chosen().time_s.high, 17.9);
  ASSERT_TRUE(job.more_is_slower);
  EXPECT_LT(*job.more_is_slower, 0.9);
}

TEST(Advice, EachModelAndDataSetIsAJobOfItsOwn) {
  MeasurementRows rows;
  rows.at_local(1, 32, "epoch_time", 10).at_local(2, 32, "epoch_time", 6);
  rows.dataset = "other";
  rows.at_local(1, 32, "epoch_time", 100).at_local(2, 32, "epoch_time", 99);
  const auto all = Table(rows.rows).advice();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].job, "net on data");
  EXPECT_EQ(all[0].chosen().workers, 2);
  EXPECT_EQ(all[1].chosen().workers, 1);
}

TEST(Advice, AlwaysChoosesSomethingSane) {
  Rng rng(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::pair<int, double>> times;
    for (int n = 1; n <= 8; n *= 2) {
      if (rng.below(3) != 0) times.emplace_back(n, std::exp(3 * rng.normal()));
    }
    if (times.empty()) continue;
    Terms terms = for_ten_epochs();
    if (round % 3 == 1) terms.deadline_s = std::exp(3 * rng.normal());
    if (round % 3 == 2) terms.budget = std::exp(3 * rng.normal());
    const JobAdvice job = one_job(epochs_on("v100", times), terms);
    ASSERT_LT(job.choice.at, job.candidates.size());
    EXPECT_GT(job.chosen().time_s.value, 0);
    EXPECT_FALSE(job.why.empty());
    EXPECT_TRUE(terms.limited() || job.chosen().was_run());
  }
}

TEST(Advice, OnAnyTableIsFiniteOrASentence) {
  Rng rng(12);
  const char* const kMetrics[] = {"throughput", "epoch_time", "step_time", "total_time",
                                  "val_accuracy"};
  int advised = 0;
  for (int round = 0; round < 300 && !::testing::Test::HasFailure(); ++round) {
    std::vector<record::Measurement> rows(1 + rng.below(12));
    for (record::Measurement& row : rows) {
      row.model = "net";
      row.device = rng.below(3) == 0 ? "cpu" : "t4";
      if (rng.below(10) != 0) row.workers = static_cast<std::int64_t>(1 + rng.below(20));
      if (rng.below(3) != 0) row.batch_per_worker = static_cast<double>(32 << rng.below(2));
      if (rng.below(3) == 0) row.global_batch = static_cast<std::int64_t>(64 << rng.below(2));
      if (rng.below(2) == 0) row.examples = static_cast<std::int64_t>(1 + rng.below(100'000));
      if (rng.below(2) == 0) row.epochs = static_cast<std::int64_t>(1 + rng.below(3) * 9);
      row.metric = kMetrics[rng.below(5)];
      const double odd[] = {0, -5, NAN, INFINITY, 1e300, 1e-300};
      row.value = rng.below(6) == 0 ? odd[rng.below(6)] : 1 + 100 * rng.uniform();
    }
    Terms terms;
    terms.max_workers = static_cast<double>(rng.below(33));
    if (rng.below(3) == 0) terms.deadline_s = std::exp(3 * rng.normal());
    if (rng.below(3) == 0) terms.budget = std::exp(3 * rng.normal());
    if (rng.below(2) == 0) terms.epochs = static_cast<std::int64_t>(1 + rng.below(50));
    try {
      for (const JobAdvice& job : Table(rows).advice(terms)) {
        ++advised;
        ASSERT_LT(job.choice.at, job.candidates.size());
        EXPECT_FALSE(job.sentence().empty());
        for (const Candidate& one : job.candidates) {
          EXPECT_TRUE(std::isfinite(one.time_s.value) && one.time_s.low <= one.time_s.high);
          EXPECT_TRUE(one.meets_deadline >= 0 && one.meets_deadline <= 1);
          EXPECT_TRUE(one.meets_budget >= 0 && one.meets_budget <= 1);
        }
      }
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()), "");
    }
  }
  EXPECT_GT(advised, 30);
}

}  // namespace
}  // namespace lockstep::advise
