#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/advise/job_advice.h"
#include "lockstep/import/measurements_table.h"
#include "lockstep/predict/devices/roofline.h"

namespace lockstep {
namespace {

using predict::TableSeries;

std::vector<TableSeries> series(const std::string& study) {
  return predict::most_direct(predict::series_of(
      import::read_measurements_file(LOCKSTEP_STUDIES "/" + study + ".csv").rows));
}

TEST(StudyPredictions, FourWorkersOfTheSweepFromOneAndTwo) {
  int count = 0;
  for (TableSeries table : series("e-data-parallel-sweep")) {
    ASSERT_EQ(table.series.points.size(), 3u) << table.name;
    const double actual = 1 / table.series.points.back().rate;
    table.series.points.pop_back();
    const auto job = predict::predict_job(table, {.workers = 4});
    ASSERT_TRUE(job.epoch_s);
    EXPECT_LE(job.epoch_s->low, actual) << table.name;
    EXPECT_GE(job.epoch_s->high, actual) << table.name;
    EXPECT_FALSE(job.scaling.unknowns.empty());
    ++count;
  }
  EXPECT_EQ(count, 4);
}

TEST(StudyPredictions, SixteenWorkersOfTheClassifiersHaveAnIntervalWithReasons) {
  for (const TableSeries& table : series("b-multi-worker-classifiers")) {
    const auto job = predict::predict_job(table, {.workers = 16});
    ASSERT_TRUE(job.epoch_s) << table.name;
    const double largest = 1 / table.series.points.back().rate;
    EXPECT_LT(job.epoch_s->value, largest);
    EXPECT_LT(job.epoch_s->low, job.epoch_s->value);
    EXPECT_GT(job.epoch_s->high, job.epoch_s->value);
    // Not slower than the largest measured count by more than noise and a regress seen 1 in 100.
    EXPECT_LT(job.epoch_s->high, 2 * largest) << table.name;
    EXPECT_FALSE(job.scaling.width.empty());
    EXPECT_FALSE(job.total_measured);
  }
}

TEST(StudyPredictions, TurnaroundOfTheClassifiersIncludesTheStartUpOfAJob) {
  for (const TableSeries& table : series("b-multi-worker-classifiers")) {
    if (table.model != "vgg-transfer-fruit") continue;
    const auto four = predict::predict_job(table, {.workers = 4});
    EXPECT_TRUE(four.total_measured);
    EXPECT_NEAR(four.total_s->value, 205, 1e-6);
    // Ten epochs of a second or two are not what a job of 16 workers takes.
    EXPECT_GT(predict::predict_job(table, {.workers = 16}).total_s->value, 150);
  }
}

TEST(StudyPredictions, TwentyEpochsOfTheGanFromTheFirst) {
  for (TableSeries table : series("a-runtime-prediction")) {
    double actual = 0;
    double naive = 0;
    for (const predict::WholeRun& run : table.whole_runs) {
      (run.epochs == 20 ? actual : naive) = run.epochs == 20 ? run.seconds : 20 * run.seconds;
    }
    ASSERT_GT(actual, 0) << table.name;
    std::erase_if(table.whole_runs, [](const auto& run) { return run.epochs == 20; });
    const auto job = predict::predict_job(table, {.workers = 1, .epochs = 20});
    ASSERT_TRUE(job.total_s);
    EXPECT_FALSE(job.total_measured);
    EXPECT_LE(job.total_s->low, actual) << table.name;
    EXPECT_GE(job.total_s->high, actual) << table.name;
    const double error = std::fabs(job.total_s->value / actual - 1);
    EXPECT_LT(error, std::max(0.04, std::fabs(naive / actual - 1))) << table.name;
  }
}

TEST(StudyPredictions, TheGanOnAnotherDeviceFromSpecificationsAlone) {
  double t4 = 0;
  double v100 = 0;
  for (const TableSeries& table : series("a-runtime-prediction")) {
    for (const predict::WholeRun& run : table.whole_runs) {
      if (run.epochs == 20 && table.device == "t4") t4 = run.seconds;
      if (run.epochs == 20 && table.device == "v100") v100 = run.seconds;
    }
  }
  ASSERT_NEAR(t4 / v100, 2.746, 0.001);
  const auto ratio =
      predict::device_ratio(predict::training_cost("dcgan"), *predict::find_device("v100"),
                            *predict::find_device("t4"), 256);
  EXPECT_NEAR(ratio.value, t4 / v100, 0.1 * t4 / v100);
}

TEST(StudyPredictions, AdviceOnTheTransferStudyCountsEpochsToTheTarget) {
  advise::Measured measured;
  for (const TableSeries& table : series("b-multi-worker-classifiers")) {
    if (table.model == "transfer-caltech256") measured.series.push_back(table);
  }
  ASSERT_EQ(measured.series.size(), 2u);
  advise::Terms terms;
  terms.steps = predict::fit_steps({{64, 15}, {128, 19}, {256, 25}}, 30607);
  const auto jobs = advise::advise(measured, terms);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].time_means, "to the target");
  EXPECT_FALSE(jobs[0].why.empty());
  EXPECT_GT(jobs[0].candidates.size(), 4u);
}

}  // namespace
}  // namespace lockstep
