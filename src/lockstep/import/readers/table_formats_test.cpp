#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/import/import_fixture.h"

namespace lockstep::import {
namespace {

TEST(TableFormats, LightningPutsSparseRowsTogetherByEpoch) {
  const ImportedFile file = import_fixture("lightning.csv");
  EXPECT_EQ(file.format, "lightning-csv");
  const ImportedRun& run = file.runs.at(0);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_EQ(run.epochs[0].epoch, 1);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 1.5);
  EXPECT_DOUBLE_EQ(run.epochs[0].learning_rate, 0.001);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_loss, 0.5);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.75);
  EXPECT_EQ(*run.steps_per_epoch, 100);
}

TEST(TableFormats, LightningValidationAfterTheFitIsNoEpoch) {
  const ImportedRun run = import_fixture("lightning.csv").runs.at(0);
  ASSERT_TRUE(run.at_end);
  EXPECT_DOUBLE_EQ(run.at_end->val_accuracy, 0.8);
  EXPECT_DOUBLE_EQ(run.other.at("test_loss").last(), 0.95);
}

TEST(TableFormats, CsvLoggerOfKerasWithPercentages) {
  const ImportedRun run =
      import_text(
          "epoch,accuracy,loss,val_accuracy,val_loss\n0,50.0,1.0,40.0,1.5\n1,60.0,0.5,55.5,1.0\n")
          .runs.at(0);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_accuracy, 0.6);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.555);
}

TEST(TableFormats, WandbChartGivesARunAColumn) {
  const ImportedFile file = import_fixture("wandb_chart.csv");
  EXPECT_EQ(file.format, "wandb-chart");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(file.runs[0].label, "res-4gpu");
  EXPECT_EQ(*file.runs[0].workers, 4);
  EXPECT_EQ(file.runs[0].train_loss.count(), 2u);
  EXPECT_EQ(file.runs[1].label, "base - one");
  EXPECT_DOUBLE_EQ(file.runs[1].train_loss.last(), 0.7);
}

TEST(TableFormats, WandbRunsTableIsNoChart) {
  const ImportedFile file = import_fixture("wandb_runs.csv");
  EXPECT_EQ(file.format, "wandb-runs");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(*file.runs[0].workers, 4);
  EXPECT_EQ(*file.runs[0].batch_per_worker, 32);
  EXPECT_DOUBLE_EQ(*file.runs[0].total_s, 3600);
  EXPECT_DOUBLE_EQ(file.runs[0].at_end->val_accuracy, 0.91);
  EXPECT_EQ(file.runs[1].failure, "W&B state: crashed");
}

TEST(TableFormats, HistoryTakesEpochTimesFromItsClock) {
  const ImportedFile file = import_fixture("history.jsonl");
  EXPECT_EQ(file.format, "history-jsonl");
  const ImportedRun& run = file.runs.at(0);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_loss, 1);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_loss, 1.25);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_s, 30);
  EXPECT_EQ(run.epochs[0].train_s, 0);
  EXPECT_DOUBLE_EQ(*run.total_s, 50);
  EXPECT_TRUE(run.other.empty());  // the size of a video is no figure of the run
}

TEST(TableFormats, HistoryNamesTheLineThatIsCut) {
  const std::string whole = fixture_text("history.jsonl");
  const ImportedFile file = import_text(whole.substr(0, whole.size() - 10));
  ASSERT_EQ(file.warnings.size(), 1u);
  EXPECT_EQ(file.warnings[0], "log.txt line 5 is not a JSON object");
  EXPECT_EQ(file.runs.size(), 1u);
}

TEST(TableFormats, TrainerStateDerivesTheBatchFromItsRates) {
  const ImportedFile file = import_fixture("trainer_state.json");
  EXPECT_EQ(file.format, "trainer-state");
  const ImportedRun& run = file.runs.at(0);
  EXPECT_EQ(*run.global_batch, 32);
  EXPECT_EQ(run.global_batch.from, Provenance::kDerived);
  EXPECT_EQ(*run.batch_per_worker, 8);
  EXPECT_DOUBLE_EQ(*run.total_s, 100);
  EXPECT_DOUBLE_EQ(run.step_time.median(), 0.5);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 0.375);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.875);
  EXPECT_EQ(*run.steps_per_epoch, 100);
}

TEST(TableFormats, SacctGivesQueueWaitAndRunTime) {
  const ImportedFile file = import_fixture("sacct.txt");
  EXPECT_EQ(file.format, "sacct");
  ASSERT_EQ(file.runs.size(), 3u);
  EXPECT_DOUBLE_EQ(*file.runs[0].queue_wait_s, 300);
  EXPECT_DOUBLE_EQ(*file.runs[0].total_s, 3600);
  EXPECT_EQ(*file.runs[0].workers, 8);
  EXPECT_EQ(*file.runs[0].nodes, 2);
  EXPECT_TRUE(file.runs[1].out_of_memory);
  EXPECT_EQ(*file.runs[1].workers, 4);
  EXPECT_FALSE(file.runs[2].has_figures());
}

TEST(TableFormats, SacctInColumns) {
  const ImportedFile file = import_fixture("sacct_columns.txt");
  ASSERT_EQ(file.runs.size(), 1u);
  EXPECT_DOUBLE_EQ(*file.runs[0].total_s, 86410);
  EXPECT_EQ(file.runs[0].label, "200 train-x");
  ASSERT_EQ(file.runs[0].missing.size(), 1u);
  EXPECT_EQ(file.runs[0].missing[0], "queue wait: the table has no columns Submit and Start");
}

TEST(TableFormats, MeasurementsTableIsKeptAsRows) {
  const ImportedFile file = import_fixture("measurements.csv");
  EXPECT_EQ(file.format, "measurements");
  ASSERT_EQ(file.runs.at(0).rows.size(), 2u);
  EXPECT_DOUBLE_EQ(file.runs[0].rows[1].value, 0.42);
}

TEST(TableFormats, LinesOfALogWithDashesAreNoChart) {
  EXPECT_EQ(import_text("2024-05-01 12:00:03,123 - INFO - main - Epoch 1/2 - loss: 0.5\n"
                        "2024-05-01 12:00:09,123 - INFO - main - Epoch 2/2 - loss: 0.4\n")
                .format,
            "transcript");
}

TEST(TableFormats, ValidationWithoutEpochsIsThatAtTheEnd) {
  const ImportedRun run =
      import_text(
          "\"Step\",\"a - val/acc\",\"a - val/acc__MIN\",\"a - val/acc__MAX\",\"a - _step\"\n"
          "10,70.5,70.5,70.5,10\n20,72.5,72.5,72.5,20\n")
          .runs.at(0);
  ASSERT_TRUE(run.at_end);
  EXPECT_DOUBLE_EQ(run.at_end->val_accuracy, 0.725);
  EXPECT_FALSE(run.other.contains("_step"));
  for (const std::string& what : run.missing) EXPECT_FALSE(what.starts_with("validation")) << what;
}

TEST(Sacct, WithoutItsHeaderIsRefusedInOneSentence) {
  for (const std::string text : {"1234567|train|gpu|project|8|COMPLETED|0:0\n"
                                 "1234567.batch|batch||project|8|COMPLETED|0:0\n",
                                 "1234567      train   gpu  project   8  COMPLETED   0:0\n"
                                 "1234568      train   gpu  project  16     FAILED   1:0\n"}) {
    try {
      import_text(text);
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData);
      EXPECT_NE(std::string(error.what()).find("without its header"), std::string::npos);
      EXPECT_NE(error.hint().find("--format=JobID"), std::string::npos);
    }
  }
}

TEST(Sacct, Parsable2WithItsHeaderIsRead) {
  const ImportedRun run = import_text(
                              "JobID|JobName|NNodes|AllocTRES|Submit|Start|End|Elapsed|State\n"
                              "17|train|1|cpu=8,gres/gpu=4|2024-03-01T10:00:00|2024-03-01T10:05:00|"
                              "2024-03-01T10:25:00|00:20:00|COMPLETED\n")
                              .runs.at(0);
  EXPECT_EQ(*run.workers, 4);
  EXPECT_DOUBLE_EQ(*run.total_s, 1200);
}

TEST(HistoryTables, WallSecondsOfEpochsAreTheirTimes) {
  const ImportedFile file = import_text(
      "experiment,workers,input_size,epoch,wall_sec\nstrong,1,1000,1,219.5\n"
      "strong,1,1000,2,190.25\nstrong,2,1000,1,132.5\nstrong,2,1000,2,131.5\n",
      "scaling.csv");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(*file.runs[1].workers, 2);
  ASSERT_EQ(file.runs[1].epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(file.runs[1].epochs[1].train_s, 131.5);
}

TEST(TrainerLogs, FractionsOfEpochsEndWithTheLastOne) {
  const ImportedFile file = import_text(
      "{\"current_steps\": 5, \"loss\": 2.0, \"epoch\": 0.0}\n"
      "{\"current_steps\": 10, \"loss\": 1.5, \"epoch\": 0.52}\n"
      "{\"current_steps\": 15, \"loss\": 1.0, \"epoch\": 1.04}\n"
      "{\"current_steps\": 20, \"loss\": 0.5, \"epoch\": 2.0}\n",
      "trainer_log.jsonl");
  ASSERT_EQ(file.runs.size(), 1u);
  ASSERT_EQ(file.runs[0].epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[0].train_loss, 1.75);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[1].train_loss, 0.75);
}

TEST(TrainerState, BatchIsTheOnlyWholeOneThatItsRatesAllow) {
  const auto batch = [](const std::string& rates) {
    const ImportedFile file = import_text(
        "{\"global_step\": 8712, \"max_steps\": 8712, \"num_train_epochs\": 3, \"log_history\": ["
        "{\"loss\": 1.5, \"epoch\": 1.0, \"step\": 2904}, {\"epoch\": 3.0, \"step\": 8712, "
        "\"train_runtime\": 371992.1593, " +
            rates + "}]}",
        "trainer_state.json");
    return file.runs.at(0).global_batch ? *file.runs[0].global_batch : 0;
  };
  // 0.749 / 0.023 is 32.6: the time and the steps leave 32 alone.
  EXPECT_EQ(batch("\"train_samples_per_second\": 0.749, \"train_steps_per_second\": 0.023"), 32);
  EXPECT_EQ(batch("\"train_samples_per_second\": 0.012, \"train_steps_per_second\": 0.023"), 0);
}

TEST(TrainerState, SummaryAloneIsARun) {
  const ImportedFile file = import_text(
      "{\n  \"epoch\": 3.0,\n  \"eval_loss\": 1.5,\n  \"train_loss\": 1.375,\n"
      "  \"train_runtime\": 1000.5,\n  \"train_samples_per_second\": 6.8,\n"
      "  \"train_steps_per_second\": 0.425\n}\n",
      "all_results.json");
  ASSERT_EQ(file.runs.size(), 1u);
  EXPECT_DOUBLE_EQ(*file.runs[0].total_s, 1000.5);
  EXPECT_EQ(*file.runs[0].global_batch, 16);
  EXPECT_DOUBLE_EQ(file.runs[0].at_end.value().train_loss, 1.375);
}

TEST(CsvRows, BatchNumbersAreNoSettings) {
  const ImportedFile file = import_text(
      "Epoch,Batch,Gen Loss,Disc Loss\n0,0,0.75,1.25\n0,1,0.625,1.375\n0,2,0.5,1.5\n"
      "1,0,0.75,1.25\n1,1,0.625,1.375\n1,2,0.5,1.5\n",
      "training_log.csv");
  EXPECT_EQ(file.runs.size(), 1u);
}

}  // namespace
}  // namespace lockstep::import
