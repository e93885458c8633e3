#include <gtest/gtest.h>

#include "lockstep/base/error.h"
#include "lockstep/import/import_fixture.h"

namespace lockstep::import {
namespace {

TEST(LogFormats, KerasEpochLinesGiveEpochsAndTheNameTheWorkers) {
  const ImportedFile file = import_fixture("keras_epochs_4gpus.log");
  EXPECT_EQ(file.format, "keras");
  ASSERT_EQ(file.runs.size(), 1u);
  const ImportedRun& run = file.runs[0];
  EXPECT_EQ(*run.workers, 4);
  EXPECT_EQ(run.workers.from, Provenance::kName);
  EXPECT_EQ(*run.batch_per_worker, 64);
  EXPECT_EQ(*run.epochs_planned, 3);
  EXPECT_EQ(*run.parameters, 1250858);
  ASSERT_EQ(run.epochs.size(), 3u);
  EXPECT_EQ(run.epochs[2].epoch, 3);
  EXPECT_DOUBLE_EQ(run.epochs[2].train_loss, 1.2);
  EXPECT_DOUBLE_EQ(run.epochs[2].train_accuracy, 0.56);
  EXPECT_DOUBLE_EQ(run.epochs[2].val_loss, 1.1);
  EXPECT_DOUBLE_EQ(run.epochs[2].val_accuracy, 0.62);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 41);
}

TEST(LogFormats, KerasBarsThatWereOverwrittenCountOnce) {
  const ImportedFile file = import_fixture("keras_bars.log");
  EXPECT_EQ(file.format, "keras");
  ASSERT_EQ(file.runs.size(), 1u);
  const ImportedRun& run = file.runs[0];
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 1.9);
  EXPECT_DOUBLE_EQ(run.epochs[0].val_accuracy, 0.45);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 12);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_accuracy, 0.4688);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_s, 10);
  EXPECT_EQ(run.step_time.count(), 2u);
  EXPECT_DOUBLE_EQ(run.step_time.maximum(), 0.055);
  EXPECT_EQ(*run.steps_per_epoch, 200);
  EXPECT_FALSE(run.workers);
}

TEST(LogFormats, KerasEpochThatNeverFinishedIsNotCounted) {
  const ImportedFile file = import_text(
      "Epoch 1/5\n10/10 [===] - 3s 300ms/step - loss: 0.5\nEpoch 2/5\n 4/10 [=>..] - ETA: 2s - "
      "loss: 0.4\n");
  ASSERT_EQ(file.runs.size(), 1u);
  EXPECT_EQ(file.runs[0].epochs.size(), 1u);
  ASSERT_FALSE(file.runs[0].warnings.empty());
  EXPECT_EQ(file.runs[0].warnings[0], "epoch 2 was not finished");
}

TEST(LogFormats, KerasFileWithTwoTrainingsGivesTwoRuns) {
  const std::string once = "Epoch 1/2\n - 5s - loss: 1.0\nEpoch 2/2\n - 4s - loss: 0.5\n";
  EXPECT_EQ(import_text(once + once).runs.size(), 2u);
}

TEST(LogFormats, KerasWithoutCarriageReturnsStillFindsTheLastBar) {
  const ImportedFile file = import_text(
      "Epoch 1/1\n 1/3 [=>...] - ETA: 9s - loss: 9.0 2/3 [==>..] - ETA: 1s - loss: 8.0"
      " 3/3 [=====] - 6s 1950ms/step - loss: 7.0 - val_loss: 6.0\n");
  ASSERT_EQ(file.runs.size(), 1u);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs.at(0).train_loss, 7);
  EXPECT_DOUBLE_EQ(file.runs[0].step_time.median(), 1.95);
}

TEST(LogFormats, KerasBenchmarkLinesSurviveWrappedAndCutLines) {
  const ImportedFile file = import_fixture("keras_benchmark.log");
  ASSERT_EQ(file.runs.size(), 2u);  // 128 x 50 / 10 s, then a summary of batch 256
  EXPECT_EQ(*file.runs[0].global_batch, 128);
  EXPECT_EQ(file.runs[0].global_batch.from, Provenance::kDerived);
  EXPECT_EQ(file.runs[0].throughput.count(), 2u);
  EXPECT_EQ(*file.runs[1].global_batch, 256);
  EXPECT_EQ(*file.runs[1].steps_per_epoch, 200);
  EXPECT_DOUBLE_EQ(*file.runs[1].epoch_s, 90);
  EXPECT_DOUBLE_EQ(*file.runs[1].reported_throughput, 568.888889);
}

TEST(LogFormats, ImagenetTakesDevicesForWorkersNotLoaderProcesses) {
  const ImportedFile file = import_fixture("imagenet_ddp.log");
  EXPECT_EQ(file.format, "pytorch-imagenet");
  ASSERT_EQ(file.runs.size(), 1u);
  const ImportedRun& run = file.runs[0];
  EXPECT_EQ(*run.workers, 2);
  EXPECT_EQ(*run.global_batch, 512);
  EXPECT_EQ(*run.batch_per_worker, 256);
  EXPECT_EQ(*run.model, "resnet18");
  EXPECT_EQ(*run.steps_per_epoch, 20);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 6.5);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_accuracy, 0.01);
  EXPECT_DOUBLE_EQ(run.epochs[0].val_accuracy, 0.0625);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 8);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.095);
  EXPECT_EQ(run.step_time.count(), 4u);
}

TEST(LogFormats, ImagenetReadsTheReferencesOfTorchvision) {
  const ImportedFile file = import_text(
      "Epoch: [0]  [ 0/10]  eta: 0:01:11  lr: 0.1  img/s: 420.0  loss: 6.9 (6.8)  acc1: 0.5 (0.25) "
      " time: 0.445  data: 0.1\n"
      "Epoch: [0]  [ 9/10]  eta: 0:00:01  lr: 0.1  img/s: 440.0  loss: 6.5 (6.6)  acc1: 1.5 (1.25) "
      " time: 0.400  data: 0.1\n"
      "Epoch: [0] Total time: 0:01:10\nTest:  Acc@1 12.500 Acc@5 30.000\n");
  EXPECT_EQ(file.format, "pytorch-imagenet");
  const ImportedRun& run = file.runs.at(0);
  ASSERT_EQ(run.epochs.size(), 1u);
  EXPECT_DOUBLE_EQ(run.epochs[0].val_accuracy, 0.125);
  EXPECT_DOUBLE_EQ(run.epochs[0].learning_rate, 0.1);
  EXPECT_DOUBLE_EQ(run.throughput_per_worker.maximum(), 440);
  EXPECT_TRUE(run.throughput.empty());
}

TEST(LogFormats, ExamplesPerSecondCountsTheDevicesOfEachPrintout) {
  const ImportedFile file = import_fixture("examples_per_second.txt");
  EXPECT_EQ(file.format, "examples-per-second");
  ASSERT_EQ(file.runs.size(), 3u);
  EXPECT_EQ(*file.runs[0].workers, 3);
  EXPECT_DOUBLE_EQ(*file.runs[0].reported_throughput, 1234.5);
  EXPECT_DOUBLE_EQ(file.runs[0].at_end->train_accuracy, 0.9);
  EXPECT_DOUBLE_EQ(file.runs[0].at_end->val_accuracy, 0.85);
  EXPECT_EQ(*file.runs[0].examples, 2000);
  EXPECT_EQ(*file.runs[1].workers, 1);
  EXPECT_DOUBLE_EQ(file.runs[1].other.at("loss_G").last(), 3);
  EXPECT_DOUBLE_EQ(*file.runs[2].epoch_s, 14.3);
}

TEST(LogFormats, ExamplesPerSecondOnSomethingThatIsNoDeviceAreProse) {
  EXPECT_THROW(import_text("One card reaches 31 images/sec on Inception and 52 images/sec on "
                           "ResNet.\n"),
               Error);
  const ImportedRun run = import_text("loss 0.25, 2100.5 images/sec on 8 GPUs\n").runs.at(0);
  EXPECT_EQ(*run.workers, 8);
  EXPECT_EQ(*run.device, "gpu");
}

TEST(LogFormats, TfCnnBenchmarksGiveRateBatchAndDevice) {
  const ImportedFile file = import_fixture("tf_cnn.txt");
  EXPECT_EQ(file.format, "tf-cnn-benchmarks");
  const ImportedRun& run = file.runs.at(0);
  EXPECT_EQ(*run.workers, 2);
  EXPECT_EQ(*run.batch_per_worker, 64);
  EXPECT_EQ(*run.global_batch, 128);
  EXPECT_EQ(*run.model, "resnet50");
  EXPECT_EQ(*run.device, "Test GPU 9000");
  EXPECT_DOUBLE_EQ(*run.reported_throughput, 648.25);
  EXPECT_EQ(run.throughput.count(), 3u);
  EXPECT_DOUBLE_EQ(run.step_time.last(), 128.0 / 650.0);
  EXPECT_DOUBLE_EQ(run.train_loss.last(), 7.8);
}

TEST(LogFormats, HorovodRanksAreToldApart) {
  const ImportedFile file = import_fixture("horovod_2.log");
  EXPECT_EQ(file.format, "transcript");
  const ImportedRun& run = file.runs.at(0);
  EXPECT_EQ(*run.workers, 2);
  EXPECT_EQ(run.workers.from, Provenance::kLog);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[1].examples_per_s, 2990);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.4525);
  EXPECT_DOUBLE_EQ(run.throughput_per_worker.last(), 1500);
}

TEST(LogFormats, OverwrittenBarsBelongToTheRankOfTheirLine) {
  const ImportedRun run =
      import_text(
          "[1,0]<stdout>:Epoch 1/1\n[1,1]<stdout>:Epoch 1/1\n"
          "[1,0]<stdout>:\r 1/2 [=>..] - ETA: 1s - loss: 2.0\r2/2 [====] - 3s 1s/step - loss: 1.0\n"
          "[1,1]<stdout>:\r 1/2 [=>..] - ETA: 1s - loss: 9.0\r2/2 [====] - 3s 1s/step - loss: "
          "8.0\n")
          .runs.at(0);
  EXPECT_EQ(*run.workers, 2);
  EXPECT_DOUBLE_EQ(run.epochs.at(0).train_loss, 1);
}

TEST(LogFormats, RankThatLagsBehindIsNoSecondRun) {
  const auto line = [](int epoch, int step) {
    return "Epoch: [" + std::to_string(epoch) + "][" + std::to_string(step) +
           "/20] Time 0.1 (0.1) Loss 1.0 (1.0)\n";
  };
  EXPECT_EQ(
      import_text(line(0, 0) + line(0, 10) + line(1, 0) + line(0, 10) + line(1, 10)).runs.size(),
      1u);
  EXPECT_EQ(
      import_text(line(0, 0) + line(0, 10) + line(1, 0) + line(0, 0) + line(0, 10)).runs.size(),
      2u);
}

TEST(LogFormats, WorkersFollowFromRatesWhenOnlyRankZeroTalks) {
  const ImportedRun run = import_text(
                              "[1,0]<stdout>:[Epoch 1] per-rank=100.0 img/s | global=397.0 "
                              "img/s\n[1,0]<stdout>:val_acc=50%\n")
                              .runs.at(0);
  EXPECT_EQ(*run.workers, 4);
  EXPECT_EQ(run.workers.from, Provenance::kDerived);
}

TEST(LogFormats, HorovodSyntheticBenchmark) {
  const ImportedFile file = import_fixture("horovod_synthetic.log");
  EXPECT_EQ(file.format, "horovod-synthetic");
  const ImportedRun& run = file.runs.at(0);
  EXPECT_EQ(*run.workers, 4);
  EXPECT_EQ(*run.batch_per_worker, 32);
  EXPECT_EQ(*run.global_batch, 128);
  EXPECT_DOUBLE_EQ(*run.reported_throughput, 848);
  EXPECT_DOUBLE_EQ(run.throughput_per_worker.median(), 212);
}

TEST(LogFormats, MnistExampleUnderSrunLabels) {
  const ImportedFile file = import_fixture("mnist_example.log");
  EXPECT_EQ(file.format, "transcript");
  const ImportedRun& run = file.runs.at(0);
  EXPECT_EQ(*run.workers, 2);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 1.3);
  EXPECT_DOUBLE_EQ(run.epochs[0].val_loss, 0.052);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.9871);
}

TEST(LogFormats, EpochLinesInManyManners) {
  const struct {
    const char* text;
    double loss;
    double seconds;
  } kLogs[] = {
      {"Epoch 1, loss 0.5, time 12.5 s\n", 0.5, 12.5},
      {"2024-01-01 10:00:00 - INFO - epoch=1 train_loss=0.5 epoch_time=12.5\n", 0.5, 12.5},
      {"Epoch [1/20] | train_loss: 0.5 | elapsed: 12.5s\n", 0.5, 12.5},
      {"Epoch: 1/20 Loss: 0.5 epoch_time_ms: 12500\n", 0.5, 12.5},
      {"\x1b[32mEpoch 1\x1b[0m: train loss: 0.5, took 12.5 s\r\n", 0.5, 12.5},
  };
  for (const auto& log : kLogs) {
    const ImportedRun run = import_text(log.text).runs.at(0);
    ASSERT_EQ(run.epochs.size(), 1u) << log.text;
    EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, log.loss) << log.text;
    EXPECT_DOUBLE_EQ(run.epochs[0].train_s, log.seconds) << log.text;
  }
}

TEST(LogFormats, MegatronWorldIsTheNumberOfProcesses) {
  const ImportedFile file = import_fixture("megatron.out");
  EXPECT_EQ(file.format, "megatron");
  const ImportedRun& run = file.runs.at(0);
  EXPECT_EQ(*run.workers, 16);  // DeepSpeed's own world_size is the data-parallel 8
  EXPECT_EQ(*run.global_batch, 256);
  EXPECT_EQ(*run.accumulate, 2);
  EXPECT_FALSE(run.batch_per_worker) << "two workers share a network: none has a batch of its own";
  EXPECT_EQ(run.notes.at("model_parallel"), "2");
  EXPECT_EQ(run.notes.at("micro_batch_per_replica"), "16");
  EXPECT_EQ(run.notes.at("deepspeed_config"), "./ds_config.json");
  EXPECT_EQ(run.step_time.count(), 3u);
  EXPECT_DOUBLE_EQ(run.step_time.median(), 2.1);
  EXPECT_DOUBLE_EQ(run.train_loss.last(), 10);
  EXPECT_DOUBLE_EQ(run.other.at("forward_s").last(), 0.8);
  EXPECT_DOUBLE_EQ(run.other.at("val_loss").last(), 9.8);
  EXPECT_DOUBLE_EQ(run.other.at("tflops_per_gpu").last(), 239.8);
}

TEST(LogFormats, DeepspeedTimerInBothVersions) {
  const ImportedRun run = import_fixture("deepspeed.log").runs.at(0);
  EXPECT_EQ(run.throughput.count(), 2u);
  EXPECT_DOUBLE_EQ(run.throughput.last(), 82.5);
  ASSERT_FALSE(run.missing.empty());
  EXPECT_EQ(run.missing[0], "workers: set it with --set workers=N");
}

TEST(LogFormats, MlperfSharesABlockAmongItsEpochs) {
  const ImportedFile file = import_fixture("mlperf_mll.txt");
  EXPECT_EQ(file.format, "mlperf");
  const ImportedRun& run = file.runs.at(0);
  EXPECT_EQ(*run.workers, 32);
  EXPECT_EQ(*run.global_batch, 4096);
  EXPECT_EQ(*run.batch_per_worker, 128);
  EXPECT_EQ(*run.examples, 1281167);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_EQ(run.epochs[1].epoch, 8);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 50);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_s, 40);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.5);
  EXPECT_NEAR(*run.total_s, 361, 1e-6);
}

TEST(LogFormats, MlperfNewerLinesOfSeveralRanksAreOneRun) {
  const ImportedFile file = import_fixture("mlperf_mllog.txt");
  ASSERT_EQ(file.runs.size(), 1u);
  const ImportedRun& run = file.runs[0];
  EXPECT_EQ(*run.workers, 16);
  EXPECT_EQ(*run.nodes, 2);
  EXPECT_DOUBLE_EQ(run.epochs.at(0).train_s, 30);
  EXPECT_DOUBLE_EQ(run.epochs.at(0).val_accuracy, 0.125);
  EXPECT_DOUBLE_EQ(*run.total_s, 60);
  EXPECT_EQ(run.notes.at("status"), "aborted");
}

TEST(LogFormats, NcclTestsGiveLinkPointsOfBothPlacements) {
  const ImportedFile file = import_fixture("nccl.txt");
  EXPECT_EQ(file.format, "nccl-tests");
  const ImportedRun& run = file.runs.at(0);
  EXPECT_EQ(*run.workers, 3);
  EXPECT_EQ(*run.nodes, 2);
  EXPECT_EQ(*run.device, "NVIDIA Test 80GB");
  ASSERT_EQ(run.link.size(), 4u);
  EXPECT_EQ(run.link[2].bytes, 1073741824);
  EXPECT_DOUBLE_EQ(run.link[2].time_s, 6759.0e-6);
  EXPECT_DOUBLE_EQ(run.link[3].busbw, 298.82e9);
  EXPECT_TRUE(run.link[3].in_place);
  EXPECT_FALSE(run.is_training());
}

TEST(LogFormats, OutOfMemoryIsAResult) {
  const ImportedFile file = import_text(
      "Epoch 1, loss 0.5, time 2 s\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to "
      "allocate 20.00 GiB\n");
  EXPECT_TRUE(file.runs.at(0).out_of_memory);
  EXPECT_TRUE(import_text("RuntimeError: CUDA out of memory.\n").runs.at(0).out_of_memory);
  const std::string epochs =
      "Epoch 1/3\n100/100 - 5s - loss: 2.1 - accuracy: 0.25\n"
      "Epoch 2/3\n100/100 - 5s - loss: 1.9 - accuracy: 0.31\n";
  EXPECT_FALSE(import_text(epochs).runs.at(0).out_of_memory);
  for (const char* slurm : {"oom-kill event(s) in StepId=71.batch.",
                            "oom_kill event in StepId=71.batch. Some of the step tasks have been "
                            "OOM Killed."}) {
    const std::string text = epochs + "slurmstepd: error: Detected 1 " + slurm + "\n";
    EXPECT_TRUE(import_text(text).runs.at(0).out_of_memory) << slurm;
  }
}

}  // namespace
}  // namespace lockstep::import
