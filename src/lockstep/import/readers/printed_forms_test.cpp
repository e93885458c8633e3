#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/import/import_fixture.h"

namespace lockstep::import {
namespace {

TEST(PrintedForms, SectionsAreRunsAndBlocksOfOneSectionItsRanks) {
  const ImportedFile file = import_fixture("transcript_sections.log");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(*file.runs[0].workers, 1);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs.at(1).train_s, 40.25);
  EXPECT_EQ(*file.runs[1].workers, 2);
  EXPECT_EQ(*file.runs[1].global_batch, 64);
  EXPECT_DOUBLE_EQ(file.runs[1].epochs.at(1).train_s, 21.75);
}

TEST(PrintedForms, ProcessesOfTheJobCountAndNotTheDevicesThatItsNodesOffer) {
  // Started once per node without a common address, each node trains for itself.
  const ImportedRun run =
      import_text(
          "Nodes      : 2\nGPUs/Node  : 2\nNum processes:    2\n"
          "Batch per GPU:    64 | Effective batch: 128\n"
          "Epoch [1] | Train Loss: 2.5 | Time: 11.5s\nEpoch [2] | Train Loss: 2.25 | Time: 9.5s\n")
          .runs.at(0);
  EXPECT_EQ(*run.workers, 2);
  EXPECT_EQ(*run.batch_per_worker, 64);
  EXPECT_EQ(*run.global_batch, 128);
}

TEST(PrintedForms, TotalsOfAProfilerAreNotOfTheRun) {
  const ImportedRun run = import_text(
                              "Epoch 1 loss 1.5\nEpoch 2 loss 1.25\nSelf CPU time total: 68.5s\n"
                              "Self CUDA time total: 6.75s\nTotal running time so far: 0h:1m:16s\n")
                              .runs.at(0);
  EXPECT_FALSE(run.total_s);
}

TEST(PrintedForms, BestEpochOfASummaryIsNoEpoch) {
  const std::string epochs = "Epoch 1: val acc 0.75\nEpoch 2: val acc 0.625\n";
  for (const char* line :
       {"Best epoch: 1, final test accuracy: 0.5", "Best acc 0.75 at epoch 1, loss 0.5",
        "Saved the best model at epoch 1 with accuracy 0.875"}) {
    const ImportedRun run = import_text(epochs + line + "\n").runs.at(0);
    ASSERT_EQ(run.epochs.size(), 2u) << line;
    EXPECT_DOUBLE_EQ(run.epochs[0].val_accuracy, 0.75) << line;
    EXPECT_FALSE(std::isfinite(run.epochs[0].train_accuracy)) << line;
    EXPECT_FALSE(std::isfinite(run.epochs[0].train_loss)) << line;
  }
}

TEST(PrintedForms, TimesOfMinutesAndSecondsAreAddedUp) {
  const ImportedRun run = import_fixture("transcript_splits.log").runs.at(0);
  ASSERT_EQ(run.epochs.size(), 3u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 72.5);
  EXPECT_DOUBLE_EQ(run.epochs[2].val_loss, 1.2875);
  EXPECT_DOUBLE_EQ(*run.total_s, 213.25);
  for (const char* time :
       {"2m 11s", "2 min 11 s", "2 minutes 11 seconds", "0:02:11", "131 s", "0h:2mins:11s"}) {
    const ImportedRun timed =
        import_text(std::string("Epoch 1 finished in ") + time + ", loss 0.5\n").runs.at(0);
    EXPECT_DOUBLE_EQ(timed.epochs.at(0).train_s, 131) << time;
  }
  const ImportedRun at = import_text("Epoch 1: loss 0.5, time: 10:30:15\n").runs.at(0);
  EXPECT_EQ(at.epochs.at(0).train_s, 0) << "the time of day";
}

TEST(PrintedForms, ClockThatRunsThroughGivesStepTimesAndSeveralLossesKeepTheirNames) {
  const ImportedRun run = import_fixture("transcript_gan.log").runs.at(0);
  EXPECT_EQ(*run.device, "cpu");
  EXPECT_NEAR(run.step_time.median(), 4.75, 1e-9);
  EXPECT_DOUBLE_EQ(run.other.at("d_loss").last(), 3.52492714);
  EXPECT_FALSE(run.total_s);
  for (const record::EpochResult& epoch : run.epochs) EXPECT_EQ(epoch.train_s, 0);
}

TEST(PrintedForms, CumulativeTimeOfATableIsTheClockOfTheRun) {
  const ImportedRun run = import_fixture("ultralytics_results.csv").runs.at(0);
  ASSERT_EQ(run.epochs.size(), 4u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 38.75);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_s, 32);
  EXPECT_DOUBLE_EQ(*run.total_s, 134.5);
  EXPECT_DOUBLE_EQ(run.other.at("metrics/mAP50(B)").last(), 0.3625);
}

TEST(PrintedForms, TimeThatFallsBetweenRowsIsOfEachEpoch) {
  const ImportedFile file = import_fixture("history_times.csv");
  EXPECT_EQ(file.format, "lightning-csv");
  const ImportedRun& run = file.runs.at(0);
  ASSERT_EQ(run.epochs.size(), 4u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 42.5) << "training, not the whole that is beside it";
  EXPECT_DOUBLE_EQ(run.epochs[3].train_s, 41.25);
  EXPECT_DOUBLE_EQ(run.epochs[3].val_accuracy, 0.625);
  EXPECT_FALSE(run.total_s);
  const ImportedRun rising =
      import_text("epoch,loss,time\n7,0.5,5000\n8,0.4,5040\n9,0.3,5085\n", "x.csv").runs.at(0);
  EXPECT_EQ(rising.epochs.at(1).train_s, 0) << "a clock of a continued run, or times that rise";
}

TEST(PrintedForms, TableThatAnotherRunWasAppendedToHasTwo) {
  const ImportedFile file = import_text(
      "epoch,loss,val_accuracy\n0,1.5,0.5\n1,1.25,0.75\n0,1.75,0.25\n1,1.5,0.625\n", "x.csv");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs.at(1).val_accuracy, 0.75);
  EXPECT_DOUBLE_EQ(file.runs[1].epochs.at(1).val_accuracy, 0.625);
  EXPECT_EQ(file.runs[1].label, "#2");
  const ImportedFile tested =
      import_text("epoch,loss,test_acc\n0,1.5,\n1,1.25,\n0,,0.75\n", "x.csv");
  EXPECT_EQ(tested.runs.size(), 1u) << "a test is no run";
}

TEST(PrintedForms, RowsOfOtherSettingsAreOtherRuns) {
  const ImportedFile file = import_fixture("history_settings.csv");
  EXPECT_EQ(file.format, "lightning-csv");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(*file.runs[0].workers, 1);
  EXPECT_EQ(*file.runs[1].workers, 2);
  ASSERT_EQ(file.runs[1].epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(file.runs[1].epochs[1].train_s, 20.5);
  EXPECT_DOUBLE_EQ(file.runs[1].epochs[1].train_loss, 1.75);
  EXPECT_EQ(*file.runs[1].model, "small");
  const ImportedFile named =
      import_text("epoch,method,loss\n1,ring,2.5\n1,tree,2.25\n2,ring,1.5\n2,tree,1.25\n", "x.csv");
  ASSERT_EQ(named.runs.size(), 2u);
  EXPECT_DOUBLE_EQ(named.runs[0].epochs.at(1).train_loss, 1.5);
  EXPECT_EQ(named.runs[1].notes.at("setting"), "method tree");
}

TEST(PrintedForms, RowsOfValidationAreNotOfTraining) {
  const ImportedRun run =
      import_text(
          "epoch,phase,loss,acc,time\n1,train,2.5,0.25,9.5\n1,val,2.25,0.375,1.5\n"
          "2,train,1.5,0.5,8.5\n2,val,1.25,0.625,1.25\n",
          "x.csv")
          .runs.at(0);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_loss, 1.5);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_loss, 1.25);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.625);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_s, 8.5);
}

TEST(PrintedForms, RowsOfRanksAreOneRun) {
  const ImportedRun run =
      import_text(
          "rank,epoch,loss,time\n0,1,2.5,21.5\n1,1,2.25,21.75\n0,2,1.5,20.5\n1,2,1.25,20.25\n",
          "x.csv")
          .runs.at(0);
  EXPECT_EQ(*run.workers, 2);
  EXPECT_DOUBLE_EQ(run.epochs.at(1).train_loss, 1.5);
  EXPECT_DOUBLE_EQ(run.epochs.at(1).train_s, 20.5);
}

TEST(PrintedForms, EpochsThatComeBackInATableAreLeftOut) {
  const ImportedRun continued =
      import_text("epoch,loss\n1,2.5\n2,2.25\n3,1.75\n4,1.5\n3,1.625\n4,1.375\n5,1.25\n6,1.125\n",
                  "x.csv")
          .runs.at(0);
  ASSERT_EQ(continued.epochs.size(), 4u);
  EXPECT_EQ(continued.epochs[2].epoch, 5);
  ASSERT_EQ(continued.warnings.size(), 1u);
  EXPECT_TRUE(continued.warnings[0].starts_with("2 epochs appear again")) << continued.warnings[0];
  const ImportedRun mixed =
      import_text("epoch,loss\n3,1.5\n1,2.5\n4,1.25\n2,2.25\n5,1.125\n3,1.75\n4,1.625\n", "x.csv")
          .runs.at(0);
  EXPECT_TRUE(mixed.epochs.empty());
  EXPECT_FALSE(mixed.has_figures());
}

TEST(PrintedForms, YoloLinesHaveNoNamesButAFixedOrder) {
  const ImportedRun run = import_fixture("yolo_results.txt").runs.at(0);
  ASSERT_EQ(run.epochs.size(), 4u);
  EXPECT_DOUBLE_EQ(run.epochs[3].train_loss, 0.10184);
  EXPECT_DOUBLE_EQ(run.other.at("mAP50").last(), 0.03418);
  EXPECT_FALSE(run.batch_per_worker);
}

TEST(PrintedForms, EstimatorCountsStepsPerSecond) {
  const ImportedRun run = import_fixture("estimator.log").runs.at(0);
  EXPECT_DOUBLE_EQ(run.train_loss.last(), 1.6875);
  EXPECT_EQ(run.step_time.count(), 2u);
  EXPECT_NEAR(run.step_time.maximum(), 1 / 24.125, 1e-12);
}

TEST(PrintedForms, AccuracyOfSomethingElseIsNotTheAccuracy) {
  const ImportedRun run =
      import_text(
          R"({"mode": "train", "epoch": 1, "iter": 10, "data_time": 0.02, "decode.acc_seg": 73.5, "loss": 1.5, "time": 0.375})"
          "\n"
          R"({"mode": "val", "epoch": 1, "iter": 64, "aAcc": 0.98, "mIoU": 0.92})"
          "\n",
          "log.json")
          .runs.at(0);
  ASSERT_EQ(run.epochs.size(), 1u);
  EXPECT_FALSE(std::isfinite(run.epochs[0].train_accuracy));
  EXPECT_FALSE(std::isfinite(run.epochs[0].val_accuracy));
  EXPECT_DOUBLE_EQ(run.step_time.median(), 0.375);
}

TEST(PrintedForms, EveryLineLogIsExplainedByItsFigures) {
  ImportOptions options;
  options.explain = true;
  const ImportedFile file = import_fixture("estimator.log", options);
  ASSERT_GE(file.explained.size(), 3u);
  EXPECT_EQ(file.explained[0].words, "train loss within an epoch");
  EXPECT_EQ(file.explained[0].number, 1u);
}

TEST(PrintedForms, RunsOfOneFileWithOtherTimesAreNamed) {
  std::string text;
  for (const double seconds : {10.0, 20.0}) {
    for (int epoch = 1; epoch <= 3; ++epoch)
      text += "Epoch " + std::to_string(epoch) + ": loss " + std::to_string(seconds / epoch) +
              " time " + std::to_string(seconds + 0.1 * epoch) + "s\n";
  }
  const ImportedFile file = import_text(text);
  ASSERT_EQ(file.runs.size(), 2u);
  ASSERT_EQ(file.runs[1].warnings.size(), 1u);
  EXPECT_NE(file.runs[1].warnings[0].find("what differs is not stated"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::import
