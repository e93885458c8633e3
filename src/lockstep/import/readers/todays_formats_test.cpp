#include <gtest/gtest.h>

#include "lockstep/base/error.h"
#include "lockstep/import/import_fixture.h"

namespace lockstep::import {
namespace {

TEST(TodaysFormats, NotebookTablesOfEpochsAreReadFromTheirMarkup) {
  const ImportedFile file = import_fixture("notebook_table.ipynb");
  EXPECT_EQ(file.format, "notebook");
  const ImportedRun& run = file.runs.at(0);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 2.25);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_loss, 2.125);
}

TEST(TodaysFormats, NotebookGivesTheOutputOfItsCellsInTheirOrder) {
  const std::string text = R"({"cells": [
    {"cell_type": "code", "execution_count": 2, "source": ["batch_size = 999\n"], "outputs": [
      {"output_type": "stream", "name": "stdout", "text": ["Epoch 1: loss 0.5, time 3.5 s\n", "Epoch 2: loss 0.4, time 3.1 s\n"]}]},
    {"cell_type": "code", "execution_count": 1, "source": ["Epoch 9: loss 0.1"], "outputs": [
      {"output_type": "execute_result", "data": {"text/plain": ["Epoch 1: loss 1.5, time 7.5 s"]}},
      {"output_type": "error", "ename": "KeyError", "traceback": ["CUDA out of memory"]}]}],
    "nbformat": 4, "metadata": {}})";
  const ImportedFile file = import_text(text, "work.ipynb");
  EXPECT_EQ(file.format, "notebook");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs.at(0).train_loss, 1.5);
  EXPECT_DOUBLE_EQ(file.runs[1].epochs.at(1).train_s, 3.1);
  EXPECT_FALSE(file.runs[0].out_of_memory);
  EXPECT_FALSE(file.runs[1].batch_said);
}

TEST(TodaysFormats, NotebookCellWithoutACountRanWhereItStands) {
  const auto cell = [](const std::string& count, const std::string& loss) {
    return R"({"cell_type": "code", "execution_count": )" + count +
           R"(, "source": [], "outputs": [{"output_type": "stream", "text": "Epoch 1: loss )" +
           loss + R"(\n"}]})";
  };
  const ImportedFile file =
      import_text(R"({"cells": [)" + cell("7", "1.5") + "," + cell("null", "1.25") + "," +
                      cell("2", "1.75") + R"(], "nbformat": 4, "metadata": {}})",
                  "work.ipynb");
  ASSERT_EQ(file.runs.size(), 3u);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs.at(0).train_loss, 1.75);
  EXPECT_DOUBLE_EQ(file.runs[1].epochs.at(0).train_loss, 1.5);
  EXPECT_DOUBLE_EQ(file.runs[2].epochs.at(0).train_loss, 1.25);
}

TEST(TodaysFormats, NanogptAndItsKin) {
  const ImportedRun clocked =
      import_text(
          "import os\nbatch_size = 8*64*1024\n\n"
          "step:11/100 train_time:124ms step_avg:nanms\n"
          "step:100/100 train_loss:3.2686 train_time:17900ms step_avg:178.89ms\n"
          "step:100/100 val_loss:3.2741 train_time:17901ms step_avg:178.89ms\n")
          .runs.at(0);
  EXPECT_DOUBLE_EQ(clocked.step_time.median(), 0.17889);
  EXPECT_DOUBLE_EQ(*clocked.total_s, 17.901);
  EXPECT_DOUBLE_EQ(clocked.train_loss.last(), 3.2686);
  EXPECT_DOUBLE_EQ(clocked.at_end->val_loss, 3.2741);
  EXPECT_FALSE(clocked.workers);
  const ImportedRun timed =
      import_text(
          "step 0: train loss 4.2, val loss 4.3\niter 0: loss 4.25, time 6347.93ms, mfu -100.00%\n"
          "iter 10: loss 3.25, time 51.00ms, mfu 6.64%\niter 20: loss 2.25, time 53.00ms, mfu "
          "6.60%\n")
          .runs.at(0);
  EXPECT_EQ(timed.step_time.count(), 2u) << "the first step contains compiling and evaluating";
  EXPECT_DOUBLE_EQ(timed.step_time.maximum(), 0.053);
  const ImportedRun iterated =
      import_text(
          "[eval] iter 0: train 9.8578 val 9.8535 lr 7.50e-07\n"
          "[train] iter 10: loss 8.6864 2942 ms/iter\n[train] iter 20: loss 8.1 2942 ms/iter\n")
          .runs.at(0);
  EXPECT_DOUBLE_EQ(iterated.step_time.median(), 2.942);
  EXPECT_DOUBLE_EQ(iterated.at_end->val_loss, 9.8535);
}

TEST(TodaysFormats, FrameworksThatPrintSteps) {
  const ImportedFile titan = import_text(
      "[2025-09-11 14:09:46][I] step:  1  loss: 10.8595  memory:  8.44GiB(13.20%)  tps: 149  "
      "tflops: 1.39  mfu: 0.47%\n"
      "[2025-09-11 14:09:47][I] step:  2  loss:  9.5  memory:  8.44GiB(13.20%)  tps: 6,647  "
      "tflops: 62.15  mfu: 20.69%\n");
  EXPECT_EQ(titan.format, "torchtitan");
  EXPECT_DOUBLE_EQ(titan.runs.at(0).other.at("tokens_per_s_per_device").last(), 6647);
  EXPECT_FALSE(titan.runs[0].out_of_memory);
  const ImportedFile nemo = import_text(
      "Training epoch 1, iteration 10/999 | lr: 4.498e-06 | global_batch_size: 512 | global_step: "
      "29 | "
      "reduced_train_loss: 11.03 | train_step_timing in s: 46.84 | consumed_samples: 15360\n");
  EXPECT_EQ(nemo.format, "nemo");
  EXPECT_EQ(*nemo.runs.at(0).global_batch, 512);
  EXPECT_DOUBLE_EQ(nemo.runs[0].step_time.median(), 46.84);
  const ImportedFile detectron = import_text(
      "[05/24 22:38:07] detectron2 INFO: Rank of current process: 0. World size: 8\n  "
      "IMS_PER_BATCH: 16\n"
      "[05/24 22:40:03] d2.utils.events INFO:  eta: 7:13:35  iter: 199  total_loss: 0.292  "
      "loss_rpn_cls: 0.157  time: 0.2895  data_time: 0.0092  lr: 0.003996  max_mem: 2541M\n"
      "[05/25 06:17:31] d2.engine.hooks INFO: Overall training speed: 197 iterations in 0:01:00 "
      "(0.3036 s / it)\n"
      "[05/25 06:17:31] d2.engine.hooks INFO: Total training time: 0:01:10 (0:00:02 on hooks)\n");
  EXPECT_EQ(detectron.format, "detectron2");
  EXPECT_EQ(*detectron.runs.at(0).workers, 8);
  EXPECT_EQ(*detectron.runs[0].global_batch, 16);
  EXPECT_DOUBLE_EQ(detectron.runs[0].step_time.median(), 0.3036);
  EXPECT_DOUBLE_EQ(*detectron.runs[0].total_s, 70);
  const ImportedFile mm = import_text(
      "2023/06/05 20:10:13 - mmengine - INFO - Epoch(train)   [1][1/6]  lr: 4.0e-08  eta: 4:59:11  "
      "time: 9.978710  data_time: 9.013012  loss: 0.421912  acc_pose: 0.007440\n"
      "2023/06/05 20:17:33 - mmengine - INFO - Epoch(val)  [10][1/6]    eta: 0:00:12  time: "
      "2.449414  data_time: 2.133989\n");
  EXPECT_EQ(mm.format, "mmengine");
  EXPECT_DOUBLE_EQ(mm.runs.at(0).step_time.median(), 9.97871);
}

TEST(TodaysFormats, TimeHistoryIsOneRunPerBatchWithoutItsStart) {
  const ImportedFile file = import_text(
      "INFO:tensorflow:now profiling batch size 1\n"
      "I0419 keras_utils.py:163] TimeHistory: 31.52 seconds, 0.03 examples/second between steps 0 "
      "and 1\n"
      "I0419 keras_utils.py:163] TimeHistory: 0.50 seconds, 2.00 examples/second between steps 1 "
      "and 2\n"
      "INFO:tensorflow:TimeHistory: 0.50 seconds, 2.00 examples/second between steps 1 and 2\n"
      "INFO:tensorflow:now profiling batch size 2\n"
      "I0419 keras_utils.py:163] TimeHistory: 22.52 seconds, 0.08 examples/second between steps 0 "
      "and 1\n"
      "I0419 keras_utils.py:163] TimeHistory: 1.00 seconds, 4.00 examples/second between steps 1 "
      "and 3\n");
  EXPECT_EQ(file.format, "time-history");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(*file.runs[0].global_batch, 1);
  EXPECT_EQ(file.runs[0].step_time.count(), 1u);
  EXPECT_EQ(*file.runs[1].global_batch, 2);
  EXPECT_DOUBLE_EQ(file.runs[1].step_time.median(), 0.5);
  EXPECT_DOUBLE_EQ(file.runs[1].throughput.median(), 4);
}

TEST(TodaysFormats, ResultOfOneRunAsJson) {
  const ImportedFile file = import_text(
      R"({"batch_size_per_rank": 2, "config": {"batch_size": 7}, "environment": {"gpu": "NVIDIA A100-SXM4-40GB", "gpu_count": 8},
 "global_batch_size": 4, "loss": 75.65, "optimizer_step_ms": 3.55, "step_time_ms": 18.5, "tokens_per_sec": 54956.8, "world_size": 2})",
      "ddp.json");
  EXPECT_EQ(file.format, "result-json");
  const ImportedRun& run = file.runs.at(0);
  EXPECT_EQ(*run.workers, 2);
  EXPECT_EQ(*run.batch_per_worker, 2);
  EXPECT_EQ(*run.global_batch, 4);
  EXPECT_EQ(*run.device, "NVIDIA A100-SXM4-40GB");
  EXPECT_DOUBLE_EQ(run.step_time.median(), 0.0185);
  EXPECT_DOUBLE_EQ(run.other.at("tokens_per_s").last(), 54956.8);
  EXPECT_FALSE(run.reported_throughput);
}

TEST(TodaysFormats, EmptyObjectsBeforeTheHistoryAreSkipped) {
  const ImportedFile file = import_text(
      "{}\n{}\n{\"epoch\": 1, \"loss\": 0.5}\n{\"epoch\": 2, \"loss\": 0.25}\n", "None.log.json");
  EXPECT_EQ(file.format, "history-jsonl");
  EXPECT_DOUBLE_EQ(file.runs.at(0).epochs.at(1).train_loss, 0.25);
}

TEST(TodaysFormats, TwoLinesOfRatesAboutOneRunAreOneRun) {
  const ImportedFile file = import_text(
      "Running on a T4 - 2 CPUs:\n\nloss_D 0.637, loss_G 1.344, 27.3 examples/sec on cpu (40597.0 "
      "examples in 1486.4 seconds during this epoch)\n"
      "<Figure size 500x500 with 2 Axes>\nloss_D 0.637, loss_G 1.344, 1486.7 sec/epoch on cpu\nNum "
      "epochs: 1\nTotal training time: 1486.7 seconds\n"
      "DGX Node - 1 GPU (+ 8 CPUs)\nloss_D 0.171, loss_G 6.550, 1487.4 examples/sec on cuda:0 "
      "(40597.0 examples in 27.3 seconds during this epoch)\n"
      "loss_D 0.171, loss_G 6.550, 27.8 sec/epoch on cuda:0\nNum epochs: 20\nTotal training time: "
      "556.6 seconds\n");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_DOUBLE_EQ(*file.runs[0].reported_throughput, 27.3);
  EXPECT_DOUBLE_EQ(*file.runs[0].epoch_s, 1486.7);
  EXPECT_DOUBLE_EQ(*file.runs[0].total_s, 1486.7);
  EXPECT_EQ(*file.runs[0].workers, 1);
  EXPECT_EQ(*file.runs[1].epochs_planned, 20);
  EXPECT_DOUBLE_EQ(*file.runs[1].total_s, 556.6);
}

TEST(TodaysFormats, FairseqEpochsRatesAndTotal) {
  const ImportedFile file = import_fixture("fairseq.log");
  EXPECT_EQ(file.format, "fairseq");
  ASSERT_EQ(file.runs.size(), 1u);
  const ImportedRun& run = file.runs[0];
  EXPECT_EQ(*run.workers, 4);
  EXPECT_EQ(*run.parameters, 44604416);
  EXPECT_EQ(*run.device, "Tesla V100-SXM2-16GB");
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 7.663);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_loss, 4.901);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 392);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_s, 388) << "train_wall is of the epoch, wall a clock";
  EXPECT_DOUBLE_EQ(*run.total_s, 830.4);
  EXPECT_NEAR(run.step_time.last(), 0.8, 1e-12);
  EXPECT_DOUBLE_EQ(run.other.at("tokens_per_s").last(), 31100) << "not those of validation";
  EXPECT_FALSE(run.batch_per_worker) << "batches are of tokens";
}

TEST(TodaysFormats, OldFairseqCountsTrainWallThroughAllEpochs) {
  const ImportedFile file = import_text(
      "| epoch 001 | loss 5.5 | wps 100 | ups 2 | wpb 50 | bsz 8 | num_updates 10 | train_wall "
      "100\n"
      "| epoch 001 | valid on 'valid' subset | loss 4.5 | num_updates 10\n"
      "| epoch 002 | loss 4.5 | wps 100 | ups 2 | wpb 50 | bsz 8 | num_updates 20 | train_wall "
      "198\n");
  ASSERT_EQ(file.runs.size(), 1u);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[0].val_loss, 4.5);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[1].train_s, 98);
}

TEST(TodaysFormats, PrimusPrintsItsMeansBesideEachFigure) {
  const ImportedFile file = import_fixture("primus.log");
  EXPECT_EQ(file.format, "megatron");
  ASSERT_EQ(file.runs.size(), 1u);
  const ImportedRun& run = file.runs[0];
  EXPECT_EQ(*run.workers, 8);
  EXPECT_EQ(*run.global_batch, 128);
  EXPECT_FALSE(run.batch_per_worker) << "two workers share a network";
  EXPECT_DOUBLE_EQ(run.step_time.last(), 5.1);
  EXPECT_DOUBLE_EQ(run.train_loss.last(), 11.8);
  EXPECT_DOUBLE_EQ(run.other.at("tflops_per_gpu").last(), 482.2);
  EXPECT_DOUBLE_EQ(run.other.at("tokens_per_s_per_gpu").last(), 12811.3);
  EXPECT_DOUBLE_EQ(run.other.at("val_loss").last(), 10.6) << "not that of the test set";
}

TEST(TodaysFormats, GluonsErrorRatesAreAccuraciesOfValidation) {
  const ImportedFile file = import_fixture("transcript_gluon.log");
  ASSERT_EQ(file.runs.size(), 1u);
  const ImportedRun& run = file.runs[0];
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_NEAR(run.epochs[1].val_accuracy, 0.2488, 1e-12);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_accuracy, 0.1712);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 510.123456);
  EXPECT_EQ(run.notes.at("val_accuracy"), "1 - error rate");
}

TEST(MaxText, TimesOfTheFirstTwoStepsAreNone) {
  const ImportedFile file = import_fixture("maxtext.log");
  EXPECT_EQ(file.format, "maxtext");
  const ImportedRun& run = file.runs.at(0);
  EXPECT_EQ(run.step_time.count(), 3u);
  EXPECT_DOUBLE_EQ(run.step_time.median(), 5.5);
  EXPECT_EQ(run.train_loss.count(), 5u);
  EXPECT_DOUBLE_EQ(run.train_loss.last(), 10.125);
}

TEST(Espnet, ResultsOfEpochs) {
  const ImportedFile file = import_fixture("espnet.log");
  EXPECT_EQ(file.format, "espnet");
  const ImportedRun& run = file.runs.at(0);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 160.5);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 62.5);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_s, 4794.5);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_accuracy, 0.375);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_loss, 80.5);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.5);
  EXPECT_DOUBLE_EQ(run.step_time.last(), 1.24);
}

}  // namespace
}  // namespace lockstep::import
