#include <gtest/gtest.h>

#include "lockstep/import/import_fixture.h"

namespace lockstep::import {
namespace {

TEST(LogVariants, TimmEpochsHaveTheMeansOfTheirLastLine) {
  const ImportedFile file = import_fixture("timm.log");
  EXPECT_EQ(file.format, "timm");
  ASSERT_EQ(file.runs.size(), 1u);
  const ImportedRun& run = file.runs[0];
  EXPECT_EQ(*run.workers, 4);
  EXPECT_EQ(*run.model, "resnet50");
  EXPECT_EQ(*run.parameters, 25557032);
  EXPECT_EQ(*run.epochs_planned, 310);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 4.0);
  EXPECT_DOUBLE_EQ(run.epochs[0].examples_per_s, 1024);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 0.25 * 33);
  EXPECT_DOUBLE_EQ(run.epochs[0].val_loss, 0.5882);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.896);
  EXPECT_DOUBLE_EQ(run.epochs[1].learning_rate, 4e-4);
  EXPECT_EQ(run.step_time.count(), 4u);
}

TEST(LogVariants, TimmEpochThatWasCutOffIsNotCounted) {
  const ImportedFile file = import_text(
      "Train: 0 [   0/100 (  0%)]  Loss: 6.9 (6.9)  Time: 0.5s, 100.0/s  (0.5s, 100.0/s)\n"
      "Train: 0 [  50/100 ( 50%)]  Loss: 6.5 (6.7)  Time: 0.4s, 120.0/s  (0.4s, 120.0/s)\n");
  EXPECT_TRUE(file.runs.at(0).epochs.empty());
  EXPECT_DOUBLE_EQ(file.runs[0].throughput.maximum(), 120);
  ASSERT_FALSE(file.runs[0].warnings.empty());
  EXPECT_EQ(file.runs[0].warnings[0], "epoch 1 ends at step 50 of 100");
}

TEST(LogVariants, TrainerPrintoutTellsWorkersBatchAndRates) {
  const ImportedFile file = import_fixture("trainer_stdout.log");
  EXPECT_EQ(file.format, "trainer-stdout");
  const ImportedRun& run = file.runs.at(0);
  EXPECT_EQ(*run.workers, 4);
  EXPECT_EQ(run.workers.from, Provenance::kDerived);
  EXPECT_EQ(*run.batch_per_worker, 32);
  EXPECT_EQ(*run.global_batch, 128);
  EXPECT_EQ(*run.examples, 24000);
  EXPECT_EQ(*run.epochs_planned, 3);
  EXPECT_DOUBLE_EQ(*run.total_s, 200.5);
  EXPECT_DOUBLE_EQ(*run.reported_throughput, 359.1);
  EXPECT_DOUBLE_EQ(run.step_time.last(), 200.5 / 564);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, (0.6387 + 0.5387) / 2);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.83);
}

TEST(LogVariants, TrainerPrintoutBetweenProgressBarsAndWithQuotedNumbersIsRead) {
  const ImportedFile file = import_text(
      "  0%|          | 0/20 [00:00<?, ?it/s]\r 50%|#####     | 10/20 [00:05<00:05,  2.0it/s]\r"
      "{'loss': '0.5', 'learning_rate': '1e-05', 'epoch': '1.0'}\r 50%|#####     | 10/20\n"
      "{'train_runtime': '10.0', 'train_samples_per_second': '64.0', "
      "'train_steps_per_second': '2.0', 'train_loss': '0.4', 'epoch': '2.0'}\n");
  EXPECT_EQ(file.format, "trainer-stdout");
  const ImportedRun& run = file.runs.at(0);
  EXPECT_EQ(*run.global_batch, 32);
  EXPECT_DOUBLE_EQ(run.epochs.at(0).train_loss, 0.5);
  EXPECT_DOUBLE_EQ(run.step_time.last(), 0.5);
}

TEST(LogVariants, MlperfOfTheFirstVersionTimesEpochsByTheirBeginnings) {
  const ImportedFile file = import_fixture("mlperf_v05.txt");
  EXPECT_EQ(file.format, "mlperf");
  const ImportedRun& run = file.runs.at(0);
  EXPECT_EQ(*run.model, "resnet");
  EXPECT_NEAR(*run.total_s, 301.5, 1e-6);
  ASSERT_EQ(run.epochs.size(), 3u);
  EXPECT_NEAR(run.epochs[0].train_s, 100, 1e-6);
  EXPECT_NEAR(run.epochs[1].train_s, 100, 1e-6);
  EXPECT_DOUBLE_EQ(run.epochs[2].val_accuracy, 0.7523);
  EXPECT_EQ(run.notes.at("status"), "success");
}

TEST(Mlperf, NamesOfMachinesAreNoDevices) {
  const auto device = [](const std::string& platform) {
    const ImportedFile file = import_text(
        ":::MLLOG {\"key\": \"submission_platform\", \"value\": \"" + platform +
        "\", \"time_ms\": 1}\n:::MLLOG {\"key\": \"run_start\", \"time_ms\": 1000}\n"
        ":::MLLOG {\"key\": \"run_stop\", \"time_ms\": 9000, \"metadata\": {\"status\": "
        "\"success\"}}\n");
    return file.runs.at(0).device ? *file.runs[0].device : std::string();
  };
  EXPECT_EQ(device("hpf_n16"), "");
  EXPECT_EQ(device("1xESC-N8-E11"), "");
  EXPECT_EQ(device("16xXE9712x4GB200"), "GB200");
  EXPECT_EQ(device("2xMI300X"), "MI300X");
}

TEST(Mlperf, AnEpochThatStopsWithTheRunAtItsTargetIsNoWholeOne) {
  const auto at = [](const std::string& key, int ms, const std::string& rest) {
    return ":::MLLOG {\"key\": \"" + key + "\", \"time_ms\": " + std::to_string(ms) + rest + "}\n";
  };
  const std::string epoch = ", \"metadata\": {\"epoch_num\": 1}";
  const std::string text = at("train_samples", 1, ", \"value\": 4000") + at("run_start", 1000, "") +
                           at("epoch_start", 1010, epoch) + at("eval_start", 4000, epoch) +
                           at("eval_start", 8000, epoch) +
                           at("tracked_stats", 8500, ", \"value\": {\"throughput\": 500.0}") +
                           at("epoch_stop", 9000, epoch) +
                           at("run_stop", 9010, ", \"metadata\": {\"status\": \"success\"}");
  const ImportedRun run = import_text(text).runs.at(0);
  for (const record::EpochResult& result : run.epochs) EXPECT_FALSE(result.train_s > 0);
  EXPECT_FALSE(run.examples) << "those that were seen, not the size of the training set";
  EXPECT_DOUBLE_EQ(*run.total_s, 8.01);
}

TEST(LogVariants, LightningBarsCountOnceTheyAreFull) {
  const ImportedFile file = import_fixture("lightning_bars.log");
  EXPECT_EQ(file.format, "transcript");
  const ImportedRun& run = file.runs.at(0);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].val_accuracy, 0.31);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 40);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 9.5);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_loss, 8.1);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_s, 38);
  EXPECT_EQ(*run.steps_per_epoch, 18);
}

TEST(LogVariants, BarAfterAnEpochsHeaderIsItsTrainingAndTheNextItsValidation) {
  const ImportedRun run = import_text(
                              "Epoch 1/2\n100%|####| 391/391 [00:12<00:00, 31.2it/s, loss=0.9]\n"
                              "100%|####| 79/79 [00:02<00:00, 39.5it/s]\nval acc: 0.61\n"
                              "Epoch 2/2\n100%|####| 391/391 [01:02:03<00:00, 31.2it/s, loss=0.7]\n"
                              "val acc: 0.66\n")
                              .runs.at(0);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 12);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 0.9);
  EXPECT_DOUBLE_EQ(run.epochs[0].val_accuracy, 0.61);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_s, 3723);
}

TEST(LogVariants, RatesAndTimesWithoutANameAreThoseOfTheEpoch) {
  const ImportedRun run =
      import_text("Epoch 1: train loss 0.9 val acc 0.5 (10.5 s), 4000 samples/s, 120 ms/step\n")
          .runs.at(0);
  ASSERT_EQ(run.epochs.size(), 1u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 10.5);
  EXPECT_DOUBLE_EQ(run.epochs[0].val_accuracy, 0.5);
  EXPECT_DOUBLE_EQ(run.epochs[0].examples_per_s, 4000);
  EXPECT_DOUBLE_EQ(run.step_time.last(), 0.12);
}

TEST(LogVariants, MxnetEpochsHaveTimesAndValidation) {
  const ImportedRun run = import_text(
                              "INFO:root:Epoch[0] Batch [100]\tSpeed: 4000.5 samples/sec\n"
                              "INFO:root:Epoch[0] Train-accuracy=0.75\n"
                              "INFO:root:Epoch[0] Time cost=1.5\n"
                              "INFO:root:Epoch[0] Validation-accuracy=0.5\n")
                              .runs.at(0);
  ASSERT_EQ(run.epochs.size(), 1u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 1.5);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_accuracy, 0.75);
  EXPECT_DOUBLE_EQ(run.epochs[0].val_accuracy, 0.5);
}

TEST(LogVariants, TorchvisionCountsImagesOfOneProcess) {
  const ImportedRun run =
      import_text(
          "Namespace(batch_size=32, world_size=8)\n"
          "Epoch: [0]  [ 0/9]  eta: 0:01:11  lr: 0.1  img/s: 400.0  loss: 6.9 (6.8)  time: 0.08\n"
          "Epoch: [0]  [ 8/9]  eta: 0:00:01  lr: 0.1  img/s: 400.0  loss: 6.5 (6.6)  time: 0.08\n"
          "Training time 0:14:05\n")
          .runs.at(0);
  EXPECT_EQ(*run.batch_per_worker, 32);
  EXPECT_EQ(*run.global_batch, 256);
  EXPECT_DOUBLE_EQ(run.throughput.median(), 3200);
  EXPECT_DOUBLE_EQ(*run.total_s, 845);
}

TEST(LogVariants, RankStandsByItsNameInThePrefixesOfSageMaker) {
  const ImportedRun run = import_text(
                              "[1,mpirank:0,algo-1]<stdout>:Epoch 1, loss 0.5, 1200 img/s\n"
                              "[1,mpirank:2,algo-2]<stdout>:NCCL INFO Bootstrap\n"
                              "[1,mpirank:1,algo-1]<stdout>:NCCL INFO Bootstrap\n"
                              "[1,mpirank:3,algo-2]<stdout>:Epoch 1, loss 0.6, 1200 img/s\n")
                              .runs.at(0);
  EXPECT_EQ(*run.workers, 4);
  EXPECT_DOUBLE_EQ(run.epochs.at(0).train_loss, 0.5);
}

TEST(LogVariants, RoundingErrorsOfOlderNcclTestsAreNoWrongResults) {
  const ImportedRun run =
      import_text(
          "# nThread 1 nGpus 2\n#   Rank  0 Pid 1 on host device 0 [0x1a] V\n"
          "#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\n"
          "   1048576  262144  float  sum  50.0  20.97  20.97  1e-07  49.0  21.4  21.4  1e-07\n")
          .runs.at(0);
  EXPECT_EQ(run.link.size(), 2u);
  EXPECT_TRUE(run.warnings.empty());
}

TEST(LogVariants, TablesMaySeparateWithSemicolonsOrTabs) {
  for (const char* text : {"epoch;step;train_loss;val_acc\n0;10;0.5;\n0;20;0.25;0.75\n",
                           "epoch\tstep\ttrain_loss\tval_acc\n0\t10\t0.5\t\n0\t20\t0.25\t0.75\n"}) {
    const ImportedFile file = import_text(text);
    EXPECT_EQ(file.format, "lightning-csv");
    ASSERT_EQ(file.runs.at(0).epochs.size(), 1u);
    EXPECT_DOUBLE_EQ(file.runs[0].epochs[0].val_accuracy, 0.75);
    EXPECT_DOUBLE_EQ(file.runs[0].epochs[0].train_loss, 0.375);
  }
}

TEST(LogVariants, TestFiguresOfEveryEpochAreItsValidation) {
  const ImportedRun run = import_text(
                              "{\"train_loss\": 3.2, \"test_acc1\": 70.0, \"epoch\": 0}\n"
                              "{\"train_loss\": 3.1, \"test_acc1\": 75.0, \"epoch\": 1}\n")
                              .runs.at(0);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].val_accuracy, 0.70);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.75);
}

TEST(LogVariants, DecimalCommasAreReadWhereALogHasNoPoints) {
  const ImportedFile file = import_text(
      "Epoch 1/2: loss=1,234 val_acc=0,743 time=12,5s\n"
      "Epoch 2/2: loss=0,912 val_acc=0,750 time=12,25s\n");
  ASSERT_EQ(file.runs.at(0).epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[0].train_loss, 1.234);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[0].val_accuracy, 0.743);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[1].train_s, 12.25);
  ASSERT_EQ(file.warnings.size(), 1u);
  EXPECT_EQ(file.warnings[0], "log.txt writes decimals with commas: 0,91 was read as 0.91");
}

TEST(LogVariants, CommasOfTimesThousandsAndListsAreNoDecimals) {
  const ImportedFile file = import_text(
      "2024-05-01 12:00:03,123 - INFO - devices 0,1,2,3 - Epoch 1/2 - loss: 5 - 1,250 images/sec\n"
      "2024-05-01 12:00:09,456 - INFO - devices 0,1,2,3 - Epoch 2/2 - loss: 4 - 1,300 "
      "images/sec\n");
  EXPECT_EQ(file.format, "transcript");
  EXPECT_TRUE(file.warnings.empty());
  ASSERT_EQ(file.runs.at(0).epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[1].train_loss, 4);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[1].examples_per_s, 1300);
}

TEST(LogVariants, TablesOfSemicolonsMayHaveDecimalCommas) {
  const ImportedRun run =
      import_text("epoch;step;train_loss;val_acc\n0;9;0,5;0,25\n1;19;0,25;0,75\n").runs.at(0);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 0.5);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.75);
}

TEST(LogVariants, TfCnnUnderHorovodPrintsRatesOfOneProcess) {
  const ImportedRun run =
      import_text(
          "TensorFlow:  1.14\nModel:       resnet101\nBatch size:  256 global\n"
          "             64 per device\nDevices:     ['horovod/gpu:0', 'horovod/gpu:1']\n"
          "Variables:   horovod\n1\timages/sec: 128.0 +/- 0.0 (jitter = 0.0)\t8.1\n"
          "10\timages/sec: 128.0 +/- 0.2 (jitter = 0.5)\t8.0\ntotal images/sec: 510.00\n")
          .runs.at(0);
  EXPECT_EQ(*run.workers, 4);
  EXPECT_DOUBLE_EQ(run.throughput.median(), 512);
  EXPECT_DOUBLE_EQ(run.step_time.median(), 0.5);
  EXPECT_DOUBLE_EQ(*run.reported_throughput, 510);
}

TEST(LogVariants, MlperfAccuracyOfSeveralPartsIsKeptByPart) {
  const ImportedRun run =
      import_text(
          ":::MLLOG {\"time_ms\": 1000, \"key\": \"run_start\", \"value\": null, \"metadata\": "
          "{}}\n"
          ":::MLLOG {\"time_ms\": 9000, \"key\": \"eval_accuracy\", \"value\": {\"BBOX\": 0.37, "
          "\"SEGM\": 0.34}, \"metadata\": {\"epoch_num\": 3}}\n")
          .runs.at(0);
  EXPECT_DOUBLE_EQ(run.other.at("eval_accuracy.BBOX").last(), 0.37);
  EXPECT_DOUBLE_EQ(run.other.at("eval_accuracy.SEGM").last(), 0.34);
}

TEST(LogVariants, JsonLinesMayTellWorkersAndBatch) {
  const ImportedRun run =
      import_text("{\"train_loss\": 0.5, \"epoch\": 1, \"world_size\": 4, \"batch_size\": 32}\n")
          .runs.at(0);
  EXPECT_EQ(*run.workers, 4);
  EXPECT_EQ(*run.batch_per_worker, 32);
}

}  // namespace
}  // namespace lockstep::import
