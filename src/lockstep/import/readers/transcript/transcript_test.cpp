#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"
#include "lockstep/import/import_fixture.h"
#include "lockstep/import/scan/figure_scan.h"

namespace lockstep::import {
namespace {

constexpr const char* kTwoSplits =
    "Nodes: 1 | GPUs/node: 2 | World size: 2\n"
    "SLURM_NTASKS = 1\n"
    "Batch per GPU: 64 | Effective batch: 128\n"
    "Epoch [1] | Train Loss: 1.9046 | Acc: 12.36% | Time: 14.35s\n"
    "Epoch [1] | Test  Loss: 2.1931 | Acc: 18.02% | Time: 1.68s\n"
    "Epoch [2] | Train Loss: 1.1355 | Acc: 19.38% | Time: 11.76s\n"
    "Epoch [2] | Test  Loss: 2.0623 | Acc: 20.36% | Time: 1.65s\n"
    "Total time: 29.90s (0.50 min)\n";

TEST(Transcript, TestLinesGiveNoTrainingFigure) {
  const ImportedFile file = import_text(kTwoSplits);
  EXPECT_EQ(file.format, "transcript");
  ASSERT_EQ(file.runs.size(), 1u);
  const ImportedRun& run = file.runs[0];
  EXPECT_EQ(*run.workers, 2);
  EXPECT_EQ(*run.batch_per_worker, 64);
  EXPECT_EQ(*run.global_batch, 128);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_s, 11.76);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_loss, 1.1355);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_accuracy, 0.1938);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_loss, 2.0623);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.2036);
  EXPECT_DOUBLE_EQ(*run.total_s, 29.9);
}

/// As each of `ranks` processes prints two epochs, the time on the line below.
std::string section(int gpus, int batch, double seconds) {
  std::string text = "\nRunning with " + std::to_string(gpus) + " GPUs\nFiles already downloaded\n";
  for (int rank = 0; rank < gpus; ++rank) {
    for (int epoch = 1; epoch <= 2; ++epoch) {
      text += "Epoch " + std::to_string(epoch) + ": Loss 1." + std::to_string(10 * rank + epoch) +
              "00, Accuracy 4" + std::to_string(epoch) + ".50%\n";
      const std::string size = "Batch size: " + std::to_string(batch);
      text += size + ", Training time for epoch: " + std::to_string(seconds + epoch) + " seconds\n";
      text += size + ", Communication time for epoch: 0.3472 seconds\n";
    }
  }
  return text + "Bandwidth utilization for " + std::to_string(gpus) + " GPUs and batch size " +
         std::to_string(batch) + ": 44.70 MB/sec\n";
}

TEST(Transcript, SectionsAreRunsAndBlocksUnderOneHeadingAreItsRanks) {
  std::string text = "GPU: Product Name   : Quadro RTX 8000\n";
  for (const int batch : {32, 128}) {
    for (const int gpus : {1, 2, 4}) text += section(gpus, batch, 40.0 / gpus);
  }
  const ImportedFile file = import_text(text);
  ASSERT_EQ(file.runs.size(), 6u);
  const std::int64_t workers[] = {1, 2, 4, 1, 2, 4};
  for (std::size_t i = 0; i < 6; ++i) {
    const ImportedRun& run = file.runs[i];
    EXPECT_EQ(*run.workers, workers[i]) << i;
    EXPECT_EQ(*run.batch_per_worker, i < 3 ? 32 : 128) << i;
    EXPECT_EQ(*run.device, "Quadro RTX 8000");
    ASSERT_EQ(run.epochs.size(), 2u) << i;
    EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 40.0 / static_cast<double>(workers[i]) + 1) << i;
    EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 1.1);
  }
}

TEST(Transcript, LinesWithoutARankAreNotRankMinusOne) {
  const ImportedFile file = import_text(
      "[rank 0] ready\n[rank 1] ready\n"
      "Epoch 1: loss 2.10, time 10.1s\nEpoch 2: loss 1.90, time 10.2s\nEpoch 3: loss 1.80, time "
      "10.0s\n"
      "[rank 0] Epoch 1: loss 2.10\n[rank 1] Epoch 1: loss 2.11\n");
  ASSERT_EQ(file.runs.size(), 1u);
  ASSERT_EQ(file.runs[0].epochs.size(), 3u);
  EXPECT_EQ(file.runs[0].notes.at("ranks"), "2 ranks printed; the lines without a rank are shown");
}

TEST(Transcript, OutOfMemoryIsOfItsOwnSectionOnly) {
  std::string text;
  for (const int batch : {32, 8192, 64}) {
    text += "Started training using SGD optimizer.\nBatch size per GPU: " + std::to_string(batch) +
            "\nEffective Batch Size: " + std::to_string(2 * batch) + "\n";
    if (batch == 8192) {
      text += "RuntimeError: CUDA out of memory. Tried to allocate 1024.00 MiB\n";
      continue;
    }
    text +=
        "Epoch: 1 | Training Loss:  1.831 | Training Accuracy:  32.756\n"
        "Epoch: 2 | Training Loss:  1.322 | Training Accuracy:  51.776\n"
        "Finished training using SGD optimizer.\n"
        "Training Time: 20.79(s)\nTotal Time: 22.28(s)\n";
  }
  const ImportedFile file = import_text(text);
  ASSERT_EQ(file.runs.size(), 3u);
  for (const std::size_t i : {0u, 2u}) {
    const ImportedRun& run = file.runs[i];
    EXPECT_FALSE(run.out_of_memory);
    EXPECT_EQ(*run.workers, 2);
    EXPECT_EQ(run.workers.from, Provenance::kDerived);
    // One time after two epochs may be of one epoch or of both: it is named, not taken.
    EXPECT_EQ(run.epochs[1].train_s, 0);
    EXPECT_FALSE(run.total_s);
    EXPECT_EQ(run.warnings.size(), 2u);
  }
  EXPECT_TRUE(file.runs[1].out_of_memory);
  EXPECT_EQ(*file.runs[1].batch_per_worker, 8192);
  EXPECT_TRUE(file.runs[1].epochs.empty());
}

TEST(Transcript, BatchLadderWithTwoMessagesOnOneLine) {
  const ImportedFile file = import_text(
      "Files already downloaded and verified Starting training with batch size 32\n\n"
      "training epoch: 0 started training epoch: 1 started\n\n"
      "Training Time for Each Epoch: 14.25\n\n"
      "Starting training with batch size 128\n\ntraining epoch: 0 started\n\n"
      "GPU memory full at batch size: 128, use 32.0 for 1 GPU\n\n"
      "Index\tCompute time\tBatch size\n0\t14.25\t32\n");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_DOUBLE_EQ(*file.runs[0].epoch_s, 14.25);
  EXPECT_EQ(*file.runs[0].batch_per_worker, 32);
  EXPECT_FALSE(file.runs[0].out_of_memory);
  EXPECT_TRUE(file.runs[1].out_of_memory);
  EXPECT_EQ(*file.runs[1].batch_per_worker, 128);
}

TEST(Transcript, ListsOfLossesAndTimesJoinByEpochAndLoaderWorkersAreNotWorkers) {
  std::string text;
  for (const int loaders : {0, 4}) {
    text +=
        "====================\nRunning the computations for Question: C3\n"
        "GPU is available. Training on Quadro RTX 8000\nStarted training using SGD optimizer.\n"
        "Epoch: 1 | Training Loss:  1.960 | Training Accuracy:  30.0\n"
        "Epoch: 2 | Training Loss:  1.471 | Training Accuracy:  45.5\n"
        "Finished training using sgd optimizer.\n"
        "Epoch 1 | Data Loading Time:  0.557 sec | Training Time:  5.4 sec | Running Time:  25.5 "
        "sec\n"
        "Epoch 2 | Data Loading Time:  0.520 sec | Training Time:  3.5 sec | Running Time:  23.6 "
        "sec\n"
        "Total Data loading time for " +
        std::to_string(loaders) + " workers: 62.25 sec\n\n";
  }
  const ImportedFile file = import_text(text);
  ASSERT_EQ(file.runs.size(), 2u);
  for (const ImportedRun& run : file.runs) {
    EXPECT_FALSE(run.workers);
    ASSERT_EQ(run.epochs.size(), 2u);
    EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 25.5);
    EXPECT_DOUBLE_EQ(run.epochs[1].train_loss, 1.471);
  }
  EXPECT_NE(*file.runs[0].model, *file.runs[1].model);  // other loaders: never averaged
}

TEST(Transcript, TwoProcessesInOneFileLoseNoEpochInSilence) {
  const ImportedFile file = import_text(
      "Epoch 1: loss 1.5, time 10.5 s\nEpoch 1: loss 1.6, time 10.7 s\n"
      "Epoch 2: loss 1.2, time 10.1 s\nEpoch 2: loss 1.3, time 10.2 s\n");
  ASSERT_EQ(file.runs.size(), 1u);
  EXPECT_TRUE(file.runs[0].epochs.empty());
  EXPECT_EQ(file.runs[0].warnings.size(), 2u);
}

TEST(Transcript, ClocksThatRunThroughAreNoEpochTimes) {
  const ImportedRun run = import_text(
                              "Epoch 1: loss 1.5 time: 10\nEpoch 2: loss 1.4 time: 21\n"
                              "Epoch 3: loss 1.3 time: 31\n")
                              .runs.at(0);
  EXPECT_DOUBLE_EQ(run.epochs.at(2).train_s, 10);
  EXPECT_EQ(run.warnings.size(), 1u);
}

TEST(Transcript, RunningAccuracyOfBatchLinesEndsWithThatOfTheEpoch) {
  const ImportedRun run =
      import_text(
          "Epoch: 0\nLoss: 2.416 | Precision@1: 13.281% (17/128)\n"
          "Loss: 2.908 | Precision@1: 12.891% (33/256)\n"
          " \t Mini-batch Time: 11.4 \n \t Training Epoch Time: 31.34\n"
          " Averages: \n \t Training Loss: 1.969\n"
          " Test set Averages: Loss: 0.927 | Precision@1: 67.760% (6776/10000)\n")
          .runs.at(0);
  ASSERT_EQ(run.epochs.size(), 1u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 31.34);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 1.969);
  EXPECT_NEAR(run.epochs[0].train_accuracy, 0.12891, 1e-9);
  EXPECT_DOUBLE_EQ(run.epochs[0].val_loss, 0.927);
  EXPECT_NEAR(run.epochs[0].val_accuracy, 0.6776, 1e-9);
}

TEST(Transcript, StepsWithoutEpochsKeepTheirRateAfterTheStart) {
  const ImportedRun run =
      import_text(
          "Step 0: Minibatch Loss= 2.2, Training Accuracy= 0.340, 26 Examples/sec\n"
          "Step 10: Minibatch Loss= 1.7, Training Accuracy= 0.600, 1716 Examples/sec\n"
          "Step 20: Minibatch Loss= 1.3, Training Accuracy= 0.740, 1645 Examples/sec\n"
          "TESTING\ntest accuracy 1\n--- 38.5 seconds ---\n",
          "4gpu.out")
          .runs.at(0);
  EXPECT_EQ(run.throughput.count(), 2u);
  EXPECT_DOUBLE_EQ(*run.total_s, 38.5);
  EXPECT_TRUE(run.epochs.empty());
}

/// Lines deleted, doubled, swapped and cut off.
std::string mutate_lines(const std::string& text, Rng& rng) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t stop = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, stop - at));
    at = stop + 1;
  }
  const auto pick = [&] {
    return static_cast<std::size_t>(rng.uniform() * static_cast<double>(lines.size())) %
           lines.size();
  };
  for (int changes = 0; changes < 4 && lines.size() > 2; ++changes) {
    const std::size_t i = pick();
    const double kind = rng.uniform();
    if (kind < 0.25) {
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (kind < 0.5) {
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(i), std::string(lines[i]));
    } else if (kind < 0.75) {
      std::swap(lines[i], lines[pick()]);
    } else {
      lines[i].resize(lines[i].size() / 2);
    }
  }
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

/// Every reported figure stands in the text, and one of the training on a line of the training: in
/// kTwoSplits losses of training are below 2, of the test above; its times are above 10 s and
/// below.
TEST(Transcript, MutatedLinesNeverGiveAWrongFigure) {
  Rng rng(5);
  for (int i = 0; i < 400; ++i) {
    const std::string text = mutate_lines(kTwoSplits, rng);
    std::set<double> numbers;
    for_each_figure(text, [&](const Figure& figure) { numbers.insert(figure.value); });
    ImportedFile file;
    try {
      file = import_text(text);
    } catch (const Error&) {
      continue;
    }
    for (const ImportedRun& run : file.runs) {
      for (const record::EpochResult& epoch : run.epochs) {
        if (std::isfinite(epoch.train_loss)) {
          EXPECT_TRUE(numbers.contains(epoch.train_loss)) << text;
          EXPECT_LT(epoch.train_loss, 2) << text;
        }
        if (std::isfinite(epoch.val_loss) && numbers.contains(epoch.val_loss)) {
          EXPECT_GE(epoch.val_loss, 2) << text;
        }
        if (epoch.train_s > 0) {
          EXPECT_TRUE(numbers.contains(epoch.train_s)) << text;
          EXPECT_GT(epoch.train_s, 10) << text;
        }
      }
      if (run.workers) {
        EXPECT_TRUE(*run.workers == 2 || *run.workers == 1) << text;
      }
    }
  }
}

TEST(Transcript, ExplanationNamesTheFiguresOfEachLine) {
  ImportOptions options;
  options.explain = true;
  const ImportedFile file = import_text(kTwoSplits, "log.txt", options);
  ASSERT_GE(file.explained.size(), 6u);
  EXPECT_EQ(file.explained[0].words, "world size 2, 1 nodes, 2 devices per node");
  EXPECT_EQ(file.explained[3].words,
            "epoch 1: train loss 1.9046, train accuracy 12.36 %, epoch time 14.35 s");
  EXPECT_EQ(file.explained[4].words, "epoch 1: test loss 2.1931, test accuracy 18.02 %");
}

TEST(Transcript, HeadingsBetweenRulesTellStrategiesAndPrecisionsApart) {
  const ImportedFile file = import_text(
      "===== DDP, 2 GPUs, fp32 =====\nepoch 1 train_loss=0.91 epoch_time=30.2\n"
      "epoch 2 train_loss=0.71 epoch_time=29.9\n"
      "===== DDP, 2 GPUs, amp =====\nepoch 1 train_loss=0.92 epoch_time=18.2\n"
      "epoch 2 train_loss=0.72 epoch_time=17.9\n"
      "===== FSDP, 4 GPUs, amp =====\nepoch 1 train_loss=0.93 epoch_time=10.2\n"
      "epoch 2 train_loss=0.73 epoch_time=9.9\n");
  ASSERT_EQ(file.runs.size(), 3u);
  EXPECT_EQ(*file.runs[0].workers, 2);
  EXPECT_EQ(*file.runs[1].workers, 2);
  EXPECT_EQ(*file.runs[2].workers, 4);
  EXPECT_NE(*file.runs[0].model, *file.runs[1].model) << "never averaged";
}

TEST(Transcript, RulesAroundPartsOfARunOpenNone) {
  const ImportedFile file = import_text(
      "World size: 2\n===== Epoch 1 on 2 GPUs =====\nepoch 1 train_loss=0.91 epoch_time=30.2\n"
      "----- Validation, 2 GPUs -----\nval_loss 0.8\n"
      "===== Epoch 2 on 2 GPUs =====\nepoch 2 train_loss=0.71 epoch_time=29.9\n");
  ASSERT_EQ(file.runs.size(), 1u);
  EXPECT_EQ(file.runs[0].epochs.size(), 2u);
}

TEST(Transcript, OutOfMemoryUnderALaterHeadingIsNoFailureOfTheRun) {
  const std::string run = "Epoch 1 | loss: 0.75\nEpoch 2 | loss: 0.5\n";
  const std::string failure = "CUDA out of memory. Tried to allocate 512.00 MiB\n";
  const auto rule = std::string(20, '=') + "\n";
  const ImportedRun later =
      import_text(run + rule + "Memory of longer sequences\n" + rule + failure).runs.at(0);
  EXPECT_FALSE(later.out_of_memory);
  ASSERT_EQ(later.warnings.size(), 1u);
  EXPECT_NE(later.warnings[0].find("line 6"), std::string::npos);
  for (const char* heading : {"", "Testing the model", "train.py FAILED", "Epoch 3"}) {
    const std::string below = *heading == '\0' ? "" : rule + heading + "\n" + rule;
    EXPECT_TRUE(import_text(run + below + failure).runs.at(0).out_of_memory) << heading;
  }
}

TEST(Transcript, PlacesBelowTheHeaderOfAnEpochAreWithinIt) {
  const ImportedFile file = import_fixture("transcript_places.log");
  ASSERT_EQ(file.runs.size(), 1u);
  const ImportedRun& run = file.runs[0];
  EXPECT_EQ(*run.workers, 3);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 0.7);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_loss, 0.53);
  EXPECT_TRUE(run.warnings.empty());
}

TEST(Transcript, TimeOfAnEpochMayNameHowManyThereAre) {
  const ImportedRun run = import_text(
                              "Epoch [1/2], Step [10/20], Loss: 1.5\n"
                              "Total time for epoch 1/2 = 41.25 seconds\n"
                              "The average of the epoch train time so far is 41.25\n"
                              "Epoch [2/2], Step [10/20], Loss: 1.25\n"
                              "Total time for epoch 2 of 2: 40.5 seconds\n")
                              .runs.at(0);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 41.25);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_s, 40.5);
  EXPECT_FALSE(run.total_s);
}

TEST(Transcript, NumberOfStepsBehindAnEpochIsNoEpoch) {
  const ImportedFile file = import_text(
      "Epoch 1: loss 0.75\nProfiling complete for first epoch (20 steps)\nEpoch 2: loss 0.5\n");
  ASSERT_EQ(file.runs.size(), 1u);
  EXPECT_EQ(file.runs[0].epochs.size(), 2u);
  EXPECT_EQ(import_text("Epoch 3 steps: 64 loss: 0.5\n").runs.at(0).epochs.at(0).epoch, 3);
}

TEST(Explain, LearningRatesAndLossesStandAsTheyAre) {
  ImportOptions options;
  options.explain = true;
  const ImportedFile file =
      import_text("epoch,lr,loss,val_accuracy,seconds\n1,0.02,1.5,0.75,12.5\n", "log.csv", options);
  ASSERT_EQ(file.explained.size(), 1u);
  const ImportedFile other =
      import_text(" conv2d (Conv2D)  (None, 2D)\nEpoch 1/2\n78/78 - 9s - loss: 1.5 - lr: 0.0200\n",
                  "log.txt", options);
  EXPECT_EQ(other.format, "keras");
  for (const ExplainedLine& line : other.explained) EXPECT_NE(line.number, 1u) << line.words;
}

}  // namespace
}  // namespace lockstep::import
