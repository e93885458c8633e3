#include "lockstep/study/duration.h"

#include <gtest/gtest.h>

namespace lockstep::study {
namespace {

store::RunSummary finished(int workers, std::int64_t batch, std::int64_t examples, double total_s) {
  store::RunSummary run;
  run.state = store::RunState::kDone;
  run.spec.workers = workers;
  run.spec.batch_per_worker = batch;
  run.spec.data.train_examples = 1000;
  run.examples = examples;
  run.total_s = total_s;
  return run;
}

Cell cell(int workers, std::int64_t batch) {
  Cell made;
  made.workers = workers;
  made.batch_per_worker = batch;
  made.strategy = record::Strategy::kOverlap;
  return made;
}

TEST(Duration, IsUnknownWithoutAFinishedRun) {
  store::RunSummary killed = finished(1, 32, 1000, 10);
  killed.state = store::RunState::kKilled;
  EXPECT_FALSE(estimate_run(cell(1, 32), {1, 0}, {}));
  EXPECT_FALSE(estimate_run(cell(1, 32), {1, 0}, std::vector{killed}));
}

TEST(Duration, ScalesTheNearestRunByItsExamples) {
  const std::vector runs{finished(1, 32, 1000, 10), finished(2, 32, 1000, 6)};
  EXPECT_DOUBLE_EQ(estimate_run(cell(1, 64), {1, 0}, runs)->count(), 10);
  EXPECT_DOUBLE_EQ(estimate_run(cell(2, 64), {3, 0}, runs)->count(), 18);
}

TEST(Duration, CountsOnlyTheStepsThatAreAskedFor) {
  const std::vector runs{finished(1, 32, 1000, 10)};
  EXPECT_DOUBLE_EQ(estimate_run(cell(1, 10), {1, 20}, runs)->count(), 2);
  EXPECT_DOUBLE_EQ(estimate_run(cell(1, 10), {1, 5000}, runs)->count(), 10) << "one epoch at most";
}

TEST(Duration, BelievesTheNewestOfEqualRuns) {
  const std::vector runs{finished(1, 32, 1000, 10), finished(1, 32, 1000, 20)};
  EXPECT_DOUBLE_EQ(estimate_run(cell(1, 32), {1, 0}, runs)->count(), 20);
}

TEST(Duration, CountsWhatPassesBetweenRunsOfAStudy) {
  std::vector<store::RunSummary> runs;
  std::int64_t at = 0;
  for (const double gap : {2.0, 3.0, 500.0, 2.0}) {
    runs.push_back(finished(1, 32, 1000, 10));
    runs.back().label.study = "s";
    runs.back().started_wall_ns = at;
    at += static_cast<std::int64_t>((10 + gap) * 1e9);
  }
  EXPECT_NEAR(start_up(runs).count(), 2.5, 1e-6)
      << "gaps of 2 and 3 s; the night in between is none";
  EXPECT_NEAR(estimate_run(cell(1, 32), {1, 0}, runs)->count(), 12.5, 1e-6);
  EXPECT_EQ(start_up({}).count(), 0);
}

}  // namespace
}  // namespace lockstep::study
