#include "lockstep/watch/merge_ranks.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep::watch {
namespace {

using record::Phase;

constexpr std::int64_t kMs = 1'000'000;

/// A step of 100 ms that begins at `start_ms`, with one all-reduce entered `ready_ms` later.
WatchedStep step_at(int rank, std::int64_t index, int epoch, std::int64_t start_ms,
                    std::int64_t ready_ms) {
  WatchedStep step;
  step.times.rank = rank;
  step.times.step = index;
  step.times.epoch = epoch;
  step.times.examples = 32;
  step.examples_known = true;
  step.times.start_ns = start_ms * kMs;
  step.times.total_s = 0.1;
  const double exposed = static_cast<double>(90 - ready_ms) * 1e-3;
  step.times[Phase::kBackward] = 0.09 - exposed;
  step.times[Phase::kTransfer] = exposed;
  step.times[Phase::kOptimizer] = 0.01;
  step.collectives = {{(start_ms + ready_ms) * kMs, (start_ms + 90) * kMs}};
  return step;
}

RankRecord rank_with(int rank, std::int64_t ready_ms, std::int64_t steps = 20) {
  RankRecord record;
  record.rank = rank;
  record.world = 2;
  record.host = "a";
  record.threads = 1;
  record.parameters = 1000;
  for (std::int64_t s = 0; s < steps; ++s) {
    record.steps.push_back(step_at(rank, s, s < steps / 2 ? 1 : 2, 100 * s, ready_ms));
  }
  return record;
}

RunRecords records_of(std::vector<RankRecord> ranks) {
  RunRecords records;
  records.ranks = std::move(ranks);
  records.framework_imported = true;
  return records;
}

double sum_of_phases(const record::StepTimes& step) {
  double sum = 0;
  for (double phase : step.phase_s) sum += phase;
  return sum;
}

TEST(MergeRanks, NotesRanksThatNeverCommunicate) {
  const auto lonely = [](int rank) {
    RankRecord record = rank_with(rank, 90);  // nothing exposed
    record.torch = "2.15";
    for (WatchedStep& step : record.steps) step.collectives->clear();
    return record;
  };
  const WatchedRun apart = merge_ranks(records_of({lonely(0), lonely(1)}));
  ASSERT_EQ(apart.notes.size(), 1U);
  EXPECT_NE(apart.notes[0].find("the 2 ranks were not seen to communicate"), std::string::npos);

  RankRecord meets = rank_with(1, 80);
  EXPECT_TRUE(merge_ranks(records_of({lonely(0), meets})).notes.empty());
}

TEST(MergeRanks, NotesRanksThatComputeExamplesTogether) {
  RankRecord first = rank_with(0, 40), second = rank_with(1, 40);
  first.sharing = second.sharing = 2;
  const WatchedRun run = merge_ranks(records_of({first, second}));
  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_NE(run.notes[0].find("2 ranks compute each example together"), std::string::npos);
}

TEST(MergeRanks, TakesFiguresThatRankZeroLogged) {
  RankRecord first = rank_with(0, 40);
  first.figures = {{1, "val_accuracy", 0.5},
                   {2, "val_accuracy", 0.7},
                   {2, "val_accuracy", 0.75},
                   {2, "perplexity", 12.0}};
  const WatchedRun run = merge_ranks(records_of({first, rank_with(1, 80)}));
  ASSERT_EQ(run.epochs.size(), 2U);
  EXPECT_EQ(run.epochs[0].val_accuracy, 0.5);
  EXPECT_EQ(run.epochs[1].val_accuracy, 0.75) << "the last counts";
  EXPECT_EQ(run.epochs[1].metrics.at("perplexity"), 12.0);
  EXPECT_TRUE(std::isnan(run.epochs[1].train_loss));
}

TEST(MergeRanks, LetsTheEarlierRankWaitForTheLaterOne) {
  const WatchedRun run = merge_ranks(records_of({rank_with(0, 40), rank_with(1, 80)}));
  ASSERT_EQ(run.steps.size(), 40u);
  const record::StepTimes& early = run.steps[0];
  const record::StepTimes& late = run.steps[1];
  EXPECT_NEAR(early[Phase::kWait], 0.040, 1e-9);
  EXPECT_NEAR(early[Phase::kTransfer], 0.010, 1e-9);
  EXPECT_NEAR(late[Phase::kWait], 0, 1e-9);
  EXPECT_NEAR(late[Phase::kTransfer], 0.010, 1e-9);
  EXPECT_GT(late.ready_ns, early.ready_ns);
}

TEST(MergeRanks, KeepsPhasesAddingUpToTheStep) {
  const WatchedRun run = merge_ranks(records_of({rank_with(0, 40), rank_with(1, 80)}));
  for (const record::StepTimes& step : run.steps) {
    EXPECT_NEAR(sum_of_phases(step), step.total_s, 1e-9);
  }
}

TEST(MergeRanks, WithoutEntryTimesTheRankThatWasExposedLeastCameLast) {
  std::vector<RankRecord> ranks{rank_with(0, 40), rank_with(1, 80)};
  for (RankRecord& rank : ranks) {
    for (WatchedStep& step : rank.steps) step.collectives.reset();
  }
  const WatchedRun run = merge_ranks(records_of(std::move(ranks)));
  EXPECT_NEAR(run.steps[0][Phase::kWait], 0.040, 1e-9);
  EXPECT_NEAR(run.steps[1][Phase::kWait], 0, 1e-9);
  EXPECT_GT(run.steps[1].ready_ns, run.steps[0].ready_ns);
}

TEST(MergeRanks, NamesTheRankThatWasLateAtTheCollectiveWhereRanksWereFurthestApart) {
  // Rank 1 comes 30 ms late to a broadcast; to the all-reduce after it, rank 0 comes 1 ms late.
  std::vector<RankRecord> ranks{rank_with(0, 81), rank_with(1, 80)};
  for (RankRecord& rank : ranks) {
    for (WatchedStep& step : rank.steps) {
      const std::int64_t start = step.times.start_ns;
      const std::int64_t entered = start + (rank.rank == 1 ? 40 : 10) * kMs;
      const CollectiveSpan broadcast{entered, start + 41 * kMs};
      const double seconds = static_cast<double>(broadcast.end_ns - entered) * 1e-9;
      step.collectives->insert(step.collectives->begin(), broadcast);
      step.times[Phase::kTransfer] += seconds;
      step.times[Phase::kBackward] -= seconds;
    }
  }
  const WatchedRun run = merge_ranks(records_of(std::move(ranks)));
  EXPECT_NEAR(run.steps[0][Phase::kWait], 0.030, 1e-9);
  EXPECT_NEAR(run.steps[1][Phase::kWait], 0.001, 1e-9);
  EXPECT_GT(run.steps[1].ready_ns, run.steps[0].ready_ns);
  EXPECT_NEAR(sum_of_phases(run.steps[0]), run.steps[0].total_s, 1e-9);
}

TEST(MergeRanks, AlignsTheClocksOfTwoHostsWhereRanksLeaveCollectives) {
  std::vector<RankRecord> ranks{rank_with(0, 40), rank_with(1, 80)};
  ranks[1].host = "b";
  for (WatchedStep& step : ranks[1].steps) {
    step.times.start_ns += 77'000 * kMs;
    for (CollectiveSpan& span : *step.collectives) {
      span.begin_ns += 77'000 * kMs;
      span.end_ns += 77'000 * kMs;
    }
  }
  const WatchedRun run = merge_ranks(records_of(std::move(ranks)));
  EXPECT_EQ(run.steps[1].start_ns, run.steps[0].start_ns);
  EXPECT_NEAR(run.steps[0][Phase::kWait], 0.040, 1e-9);
  EXPECT_EQ(run.hosts, (std::vector<std::string>{"a", "b"}));
}

TEST(MergeRanks, KeepsOnlyStepsThatAllRanksHave) {
  const WatchedRun run = merge_ranks(records_of({rank_with(0, 40, 20), rank_with(1, 80, 18)}));
  EXPECT_EQ(run.steps.size(), 36u);
}

TEST(MergeRanks, AddsUpEpochsOverRanks) {
  const WatchedRun run = merge_ranks(records_of({rank_with(0, 40), rank_with(1, 80)}));
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_EQ(run.epochs[0].examples, 10 * 2 * 32);
  EXPECT_NEAR(run.epochs[0].train_s, 1.0, 1e-9);
  EXPECT_NEAR(run.epochs[0].examples_per_s, 640, 1e-6);
  EXPECT_EQ(run.batch_per_worker, 32);
}

TEST(MergeRanks, HasNoRateWhereExamplesAreUnknown) {
  std::vector<RankRecord> ranks{rank_with(0, 40), rank_with(1, 80)};
  ranks[1].steps[3].times.examples = 0;
  ranks[1].steps[3].examples_known = false;
  const WatchedRun run = merge_ranks(records_of(std::move(ranks)));
  EXPECT_EQ(run.epochs[0].examples, 0);
  EXPECT_EQ(run.epochs[0].examples_per_s, 0);
  EXPECT_EQ(run.epochs[1].examples, 640);
}

TEST(MergeRanks, NotesRanksThatTrainOnTheSameExamples) {
  std::vector<RankRecord> ranks{rank_with(0, 40), rank_with(1, 80)};
  for (std::int64_t s = 0; s < 20; ++s) {
    const double squares = 5.0 + 0.1 * static_cast<double>(s % 3);
    for (RankRecord& rank : ranks) rank.norms.push_back({s, squares, squares * (1 + 1e-7), 32});
  }
  const WatchedRun run = merge_ranks(records_of(std::move(ranks)));
  EXPECT_TRUE(std::isnan(run.epochs[1].noise_scale));
  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_NE(run.notes[0].find("seem to train on the same examples"), std::string::npos);
}

TEST(MergeRanks, OfARestartedRankTakesTheProcessThatCameFurthest) {
  const WatchedRun run =
      merge_ranks(records_of({rank_with(0, 40, 4), rank_with(0, 40), rank_with(1, 80)}));
  EXPECT_EQ(run.steps.size(), 40u);
  ASSERT_EQ(run.notes.size(), 1u);
  EXPECT_NE(run.notes[0].find("1 further process"), std::string::npos);
}

TEST(MergeRanks, ReportsRanksThatWereNotWatched) {
  const WatchedRun run = merge_ranks(records_of({rank_with(0, 40)}));
  EXPECT_EQ(run.workers, 2);
  ASSERT_EQ(run.notes.size(), 1u);
  EXPECT_EQ(run.notes[0], "1 of 2 ranks were watched");
}

TEST(MergeRanks, SaysWhyNothingWasMeasured) {
  RunRecords records;
  EXPECT_NE(merge_ranks(records).notes.at(0).find("did not load the watcher"), std::string::npos);
  records.python_ran = true;
  EXPECT_NE(merge_ranks(records).notes.at(0).find("neither PyTorch nor Keras"), std::string::npos);
  records.framework_imported = true;
  EXPECT_NE(merge_ranks(records).notes.at(0).find("no step of a torch.optim optimizer"),
            std::string::npos);
  records.stopped = {"TypeError: surprise"};
  EXPECT_NE(merge_ranks(records).notes.at(0).find("surprise"), std::string::npos);
}

/// As a MirroredStrategy of TensorFlow, or DataParallel of PyTorch.
TEST(MergeRanks, DevicesOfOneProcessAreWorkers) {
  RankRecord record = rank_with(0, 60);
  record.world = 1;
  record.devices = 2;
  record.loader = {.workers = 0, .batch = 32, .batches = 10};
  const WatchedRun run = merge_ranks(records_of({record}));
  EXPECT_EQ(run.workers, 2);
  EXPECT_EQ(run.batch_per_worker, 16);
  EXPECT_EQ(run.loader_batch, 16);
  EXPECT_EQ(run.loader_examples, 320);
  ASSERT_FALSE(run.epochs.empty());
  EXPECT_EQ(run.epochs[0].examples, 320);
  EXPECT_TRUE(run.notes.empty());
}

}  // namespace
}  // namespace lockstep::watch
