#include "lockstep/analyze/verdict/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "lockstep/analyze/measurement_rows.h"

namespace lockstep::analyze {
namespace {

std::vector<Finding> verdict_on(const MeasurementRows& table) {
  const auto c = configurations(table.rows);
  return verdict(c, speedups(c));
}

/// All sentences of a topic, one after the other.
std::string sentences(const MeasurementRows& table, Topic topic) {
  std::string text;
  for (const Finding& finding : verdict_on(table)) {
    if (finding.topic == topic) text += finding.sentence + "\n";
  }
  return text;
}

void expect_says(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

TEST(Verdict, RecommendsTheLargestCountUpToWhichEveryStepPays) {
  MeasurementRows table;
  table.at_local(1, 32, "epoch_time", 80).at_local(2, 32, "epoch_time", 41);
  table.at_local(4, 32, "epoch_time", 22).at_local(8, 32, "epoch_time", 20);
  expect_says(sentences(table, Topic::kWorkers),
              "use 4: 3.64x as fast as 1 (22 s against 80 s per epoch)");
  expect_says(sentences(table, Topic::kWorkers), "8 would be 1.10x as fast for 2x the devices");
}

TEST(Verdict, ReportsThatMoreWorkersAreSlower) {
  MeasurementRows table;
  table.at_global(1, 32, "epoch_time", 38).at_global(2, 32, "epoch_time", 67);
  expect_says(sentences(table, Topic::kWorkers),
              "no worker count above the smallest pays off: at best 2 gpu are 0.57x as fast as 1");
}

TEST(Verdict, ComparesDevicesOnlyForTheSameWork) {
  MeasurementRows table;
  table.device = "t4";
  table.at_local(4, 32, "epoch_time", 81);
  table.device = "v100";
  table.at_local(4, 32, "epoch_time", 40).at_local(8, 32, "epoch_time", 20);
  const std::string text = sentences(table, Topic::kDevice);
  expect_says(text, "4 v100 are 2.02x as fast as 4 t4: 40 s against 81 s per epoch");
  EXPECT_EQ(text.find("8 v100"), std::string::npos);
}

TEST(Verdict, NamesTheLargestMeasuredPhase) {
  MeasurementRows table;
  table.at_local(2, 32, "step_time", 0.1).at_local(2, 32, "sync_time", 0.03);
  table.at_local(2, 32, "input_wait_time", 0.05).at_local(2, 32, "compute_time", 0.02);
  table.at_local(2, 32, "comm_wait_time", 0.025).at_local(2, 32, "comm_transfer_time", 0.005);
  expect_says(
      sentences(table, Topic::kLimit),
      "2 gpu, b = 32, B = 64: input is the bottleneck with 50 % of a step of 100 ms (measured), "
      "then waiting for the "
      "slowest rank with 25 %");
}

TEST(Verdict, SaysNothingOfPhasesThatCouldNotBeMeasured) {
  MeasurementRows table;
  for (const int workers : {1, 2}) {
    table.at_local(workers, 32, "throughput", 100.0 * workers);
    table.at_local(workers, 32, "step_time", 0.1).at_local(workers, 32, "other_time", 0.1);
    for (const char* metric : {"sync_time", "compute_time", "input_wait_time"}) {
      table.at_local(workers, 32, metric, 0);
    }
  }
  expect_says(sentences(table, Topic::kWorkers), "use 2");
  const std::string limit = sentences(table, Topic::kLimit);
  expect_says(limit, "what limits it is unknown");
  EXPECT_EQ(limit.find("nan"), std::string::npos) << limit;
}

TEST(Verdict, RanksThatNeverCommunicateAreNoDataParallelTraining) {
  MeasurementRows table;
  for (const int workers : {1, 2}) {
    table.at_local(workers, 32, "step_time", 0.1).at_local(workers, 32, "sync_time", 0);
    table.at_local(workers, 32, "compute_time", 0.1);
  }
  const std::string apart = sentences(table, Topic::kWorkers);
  expect_says(apart, "were not seen to communicate");
  EXPECT_EQ(apart.find("as fast as"), std::string::npos) << "no count is recommended";
  table.at_local(4, 32, "step_time", 0.1).at_local(4, 32, "sync_time", 0.001);
  table.at_local(4, 32, "compute_time", 0.1);
  EXPECT_EQ(sentences(table, Topic::kWorkers).find("communicate"), std::string::npos);
}

TEST(Verdict, NamesComputeThatGrowsWithTheWorkers) {
  MeasurementRows table;
  for (const auto& [workers, compute] : {std::pair{1, 0.010}, std::pair{2, 0.023}}) {
    table.at_local(workers, 32, "step_time", compute + 0.001);
    table.at_local(workers, 32, "sync_time", 0.001).at_local(workers, 32, "compute_time", compute);
  }
  expect_says(sentences(table, Topic::kLimit),
              "computing the same batch takes 2.30x as long as on 1 worker (23 against 10 ms)");
}

TEST(Verdict, ComputeThatStaysTheSameIsNotCalledContended) {
  MeasurementRows table;
  for (const auto& [workers, compute] : {std::pair{1, 0.010}, std::pair{2, 0.011}}) {
    table.at_local(workers, 32, "step_time", compute + 0.001);
    table.at_local(workers, 32, "sync_time", 0.001).at_local(workers, 32, "compute_time", compute);
  }
  EXPECT_EQ(sentences(table, Topic::kLimit).find("the same batch takes"), std::string::npos);
}

TEST(Verdict, TimesBelowTheirShareAreCalledSo) {
  MeasurementRows table;
  table.at_global(1, 32, "epoch_time", 80).at_global(2, 32, "epoch_time", 38);
  expect_says(sentences(table, Topic::kLimit),
              "more workers took less than their share, T(N) < T(1)/N (38 against 40 s");
}

TEST(Verdict, TimesAtTheirShareDivideWell) {
  MeasurementRows table;
  // A third of a second, printed with three digits.
  table.device = "";
  table.at_global(1, 30, "epoch_time", 1).at_global(3, 30, "epoch_time", 0.333);
  const std::string said = sentences(table, Topic::kLimit);
  EXPECT_EQ(said.find("less than their share"), std::string::npos) << said;
  expect_says(said, "the work divides well");
  expect_says(said, "3 workers");
}

TEST(Verdict, QualityThatHeldIsNotCalledWorse) {
  MeasurementRows table;
  table.at_local(1, 32, "val_accuracy", 0.900).at_local(2, 32, "val_accuracy", 0.903);
  table.at_local(4, 32, "val_accuracy", 0.898);
  expect_says(sentences(table, Topic::kQuality),
              "validation accuracy stayed within 0.01 as the global batch grew");
}

/// The largest batch ends where the smallest began, but between them the loss was a fifth of that.
TEST(Verdict, QualityThatCameBackHasNotHeld) {
  MeasurementRows table;
  table.at_local(1, 32, "val_loss", 1.47).at_local(2, 32, "val_loss", 0.3);
  table.at_local(4, 32, "val_loss", 1.4);
  expect_says(sentences(table, Topic::kQuality), "was best at B = 64");
}

TEST(Verdict, QualityThatIsBestInBetweenNamesTheBatch) {
  MeasurementRows table;
  table.at_local(1, 32, "val_accuracy", 0.88).at_local(2, 32, "val_accuracy", 0.90);
  table.at_local(4, 32, "val_accuracy", 0.86).at_local(8, 32, "val_accuracy", 0.81);
  expect_says(sentences(table, Topic::kQuality),
              "validation accuracy was best at B = 64 and got worse on either side of it");
}

TEST(Verdict, MetricsThatWentTheSameWayShareASentence) {
  MeasurementRows table;
  for (const auto& [metric, one, two] : {std::tuple{"train_loss", 0.1, 0.3},
                                         {"val_loss", 0.2, 0.5},
                                         {"val_accuracy", 0.9, 0.8},
                                         {"train_accuracy", 0.95, 0.955}}) {
    table.at_local(1, 32, metric, one).at_local(2, 32, metric, two);
  }
  const auto found = sentences(table, Topic::kQuality);
  EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 1);
  expect_says(found, "validation accuracy fell with the global batch: 0.9 at B = 32, 0.8 at 64");
  expect_says(found, "validation loss and training loss got worse too");
  expect_says(found, "training accuracy stayed within 0.01");
}

/// A trainer of transformers, whose loss is multiplied by the number of workers.
TEST(Verdict, ALossThatGrowsWithTheWorkersIsNotBlamedOnTheBatch) {
  MeasurementRows table;
  table.at_local(1, 16, "val_loss", 0.6911).at_local(2, 16, "val_loss", 1.384);
  table.at_local(1, 32, "val_loss", 0.6917).at_local(2, 32, "val_loss", 1.385);
  const auto found = sentences(table, Topic::kQuality);
  expect_says(found,
              "at the same B = 32 it is 0.6917 with N = 1 and 1.384 with N = 2, so the batch alone "
              "does not explain it");
  EXPECT_EQ(found.find("cost quality"), std::string::npos) << found;
}

TEST(Verdict, QualityWithoutATrendIsCalledSo) {
  MeasurementRows table;
  table.at_local(1, 32, "val_loss", 1.0).at_local(2, 32, "val_loss", 3.0);
  table.at_local(4, 32, "val_loss", 2.0);
  expect_says(sentences(table, Topic::kQuality), "varied without a trend");
}

TEST(Verdict, ReportsWhatIsMissing) {
  MeasurementRows table;
  table.at_local(1, 32, "val_loss", 1.0);
  expect_says(sentences(table, Topic::kMissing), "No verdict on time");
  table.at_local(1, 32, "epoch_time", 3);
  expect_says(sentences(table, Topic::kMissing),
              "Which worker count pays off cannot be determined");
  expect_says(sentences(table, Topic::kMissing), "every configuration was measured once");
  EXPECT_TRUE(verdict_on(MeasurementRows{}).size() == 1);
}

TEST(Verdict, UnknownBatchesAreTheOnlyReasonGivenForNoSpeedups) {
  MeasurementRows table;
  table.at_local(1, 32, "step_time", 3).at_local(2, 32, "step_time", 2);
  for (auto& row : table.rows) row.batch_per_worker.reset();
  const std::string said = sentences(table, Topic::kMissing);
  expect_says(said, "only if the batch per worker or the global batch is known");
  EXPECT_EQ(said.find("nothing was measured on two worker counts"), std::string::npos) << said;
}

TEST(Verdict, NamesRunsThatOtherProgramsDisturbed) {
  MeasurementRows table;
  table.at_local(1, 32, "epoch_time", 3).note("disturbed", "45 % of the CPU time");
  expect_says(sentences(table, Topic::kCaution),
              "Other programs ran during these runs, so the times may be too long: 1 gpu, b "
              "= 32, B = 32 (45 % of the CPU time)");
}

TEST(Verdict, AGainAboveIdealOverADisturbedRunDoesNotPay) {
  MeasurementRows table;
  table.at_global(1, 32, "epoch_time", 30).note("disturbed", "45 % of the CPU time");
  table.at_global(2, 32, "epoch_time", 10);
  const std::string said = sentences(table, Topic::kWorkers);
  expect_says(said, "2 are 3.00x as fast as 1");
  expect_says(said, "other programs ran during the run on 1 (45 % of the CPU time)");
  EXPECT_EQ(said.find("use 2"), std::string::npos) << said;
  // Below ideal, the disturbed run is a remark only.
  table.rows.back().value = 16;
  expect_says(sentences(table, Topic::kWorkers), "use 2: 1.88x as fast as 1");
}

TEST(Verdict, WarnsOfUnreliableTimes) {
  MeasurementRows table;
  table.at_local(1, 32, "epoch_time", 3).note("unreliable", "oversubscribed");
  expect_says(sentences(table, Topic::kCaution), "more threads than cores");
}

}  // namespace
}  // namespace lockstep::analyze
