#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/import/import_fixture.h"

namespace lockstep::import {
namespace {

// Forms that read as something else at first sight.

TEST(RatesByName, CountExamplesOnlyIfNothingElseIsNamed) {
  EXPECT_EQ(metric_of("throughput/tok_per_s_p50").metric, Metric::kOther);
  EXPECT_EQ(metric_of("throughput/ms_per_token").metric, Metric::kOther);
  EXPECT_EQ(metric_of("throughput_mb_s").metric, Metric::kOther);
  EXPECT_EQ(metric_of("throughput (it/s)").metric, Metric::kOther);
  EXPECT_EQ(metric_of("perf/throughput").metric, Metric::kThroughput);
  EXPECT_EQ(metric_of("images_per_sec").metric, Metric::kThroughput);
  const ImportedFile file = import_text(
      "{\"_step\":1,\"_runtime\":150,\"throughput/tok_per_s_p50\":20.5,"
      "\"throughput/ms_per_token_p50\":49.9,\"loss\":2.5}\n");
  ASSERT_EQ(file.runs.size(), 1u);
  EXPECT_TRUE(file.runs[0].throughput.empty());
}

TEST(HistoryTimes, AreOfTheStepWhereTheyAreNoClock) {
  std::string steps;
  std::string clock;
  std::string sparse;
  for (int i = 0; i < 12; ++i) {
    const double ms = i == 0 ? 480 : 26 + i % 3;
    steps += "{\"step\":" + std::to_string(i) + ",\"time_ms\":" + std::to_string(ms) +
             ",\"loss\":2.5}\n";
    clock += "{\"step\":" + std::to_string(i) + ",\"time_ms\":" + std::to_string(30 * (i + 1)) +
             ",\"loss\":2.5}\n";
    sparse += "{\"step\":" + std::to_string(10 * i) + ",\"time_ms\":" + std::to_string(ms) +
              ",\"loss\":2.5}\n";
  }
  EXPECT_DOUBLE_EQ(import_text(steps).runs.at(0).step_time.median(), 0.027);
  EXPECT_TRUE(import_text(clock).runs.at(0).step_time.empty());
  EXPECT_TRUE(import_text(sparse).runs.at(0).step_time.empty()) << "of one step or of ten";
}

TEST(ElapsedTimes, AreOfTheEpochsIfTheyDoNotRiseAllTheWay) {
  const auto text = [](const std::vector<double>& times) {
    std::string out;
    for (std::size_t i = 0; i < times.size(); ++i) {
      out += "Epoch [" + std::to_string(i + 1) + "/3] ------\n| Train Loss: 1." +
             std::to_string(i) + " | Val Loss: 2.5\n| Elapsed Time: " + std::to_string(times[i]) +
             " s | Max memory: 1960 MB\n";
    }
    return out;
  };
  const ImportedFile each = import_text(text({48.5, 47.25, 47.5}));
  ASSERT_EQ(each.runs.at(0).epochs.size(), 3u);
  EXPECT_DOUBLE_EQ(each.runs[0].epochs[1].train_s, 47.25);
  const ImportedFile rising = import_text(text({48.5, 95.25, 143.5}));
  ASSERT_EQ(rising.runs.at(0).epochs.size(), 3u);
  EXPECT_FALSE(rising.runs[0].epochs[1].train_s > 0);
  ASSERT_EQ(rising.runs[0].warnings.size(), 1u);
  EXPECT_NE(rising.runs[0].warnings[0].find("since the start"), std::string::npos);
}

TEST(Headings, WithTheWordsOfOneBelowARuleAreHeadingsToo) {
  const ImportedFile file = import_text(
      "==========\nRound 0\n==========\nClient alpha start training\nEpoch 0/0, lr "
      "0.05\n----------\n"
      "train Loss: 7.5 Acc: 0.25\nTraining complete in 0m 34s\nClient beta start training\n"
      "Epoch 0/0, lr 0.05\n----------\ntrain Loss: 6.5 Acc: 0.5\nTraining complete in 1m 5s\n");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs.at(0).train_loss, 7.5);
  EXPECT_DOUBLE_EQ(file.runs[1].epochs.at(0).train_loss, 6.5);
  EXPECT_NE((*file.runs[0].model).find("alpha"), std::string::npos);
  EXPECT_NE((*file.runs[1].model).find("beta"), std::string::npos);
}

TEST(StepsBelowAnEpoch, AreWithinItAndNoneIsItsResult) {
  const ImportedFile file = import_text(
      "Epoch 1/3\nstep 100 loss: 2.5\nstep 200 loss: 2.0\nEpoch 2/3\nstep 100 loss: 1.5\n"
      "Epoch 3/3\n[Step 100/200] loss: 1.25\n[Step 200/200] loss: 1.0\nTrain loss: 1.5\n");
  const ImportedRun& run = file.runs.at(0);
  ASSERT_EQ(run.epochs.size(), 3u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 2.25) << "the mean of what was printed";
  EXPECT_DOUBLE_EQ(run.epochs[1].train_loss, 1.5);
  EXPECT_DOUBLE_EQ(run.epochs[2].train_loss, 1.5) << "what the epoch itself printed";
  EXPECT_EQ(run.train_loss.count(), 5u);
  EXPECT_TRUE(run.warnings.empty());
}

TEST(StepsBelowAnEpoch, BelongToTheNextOneIfItsResultsStandAbove) {
  const ImportedFile file = import_text(
      "(Iteration 1 / 980) loss: 2.5\n(Epoch 1 / 3) train acc: 0.25; val_acc: 0.125\n"
      "(Iteration 101 / 980) loss: 2.25\n(Epoch 2 / 3) train acc: 0.5; val_acc: 0.375\n"
      "(Iteration 201 / 980) loss: 2.0\n(Epoch 3 / 3) train acc: 0.625; val_acc: 0.5\n");
  const ImportedRun& run = file.runs.at(0);
  ASSERT_EQ(run.epochs.size(), 3u);
  for (const record::EpochResult& epoch : run.epochs) EXPECT_TRUE(std::isnan(epoch.train_loss));
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.375);
  EXPECT_EQ(run.train_loss.count(), 3u);
}

TEST(StepsBelowAnEpoch, OfValidationAreNoneOfTraining) {
  const ImportedFile file = import_text(
      "Epoch 1/2\ntrain loss: 2.5\nValidating\nstep 10 loss: 3.5\nEpoch 2/2\ntrain loss: 1.5\n");
  ASSERT_EQ(file.runs.at(0).epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[0].train_loss, 2.5);
  EXPECT_TRUE(file.runs[0].train_loss.empty());
}

TEST(TimesOfTheEnd, OfProcessesThatEndTogetherAreOneTime) {
  const std::string epochs =
      "world_size=3\nEpoch [1/2], Step [200/200], Loss: 2.25\n"
      "Epoch [2/2], Step [200/200], Loss: 1.5\n";
  const ImportedFile alike = import_text(epochs +
                                         "Training complete in: 0:04:08.446842\n"
                                         "Training complete in: 0:04:08.446866\n");
  EXPECT_NEAR(alike.runs.at(0).total_s.value_or(0), 248.4468, 1e-3);
  EXPECT_TRUE(alike.runs[0].warnings.empty());
  const ImportedFile apart = import_text(epochs +
                                         "Training complete in: 0:04:08.446842\n"
                                         "Training complete in: 0:05:08.446866\n");
  EXPECT_FALSE(apart.runs.at(0).total_s);
  ASSERT_EQ(apart.runs[0].warnings.size(), 1u);
  EXPECT_EQ(apart.runs[0].warnings[0].find("1 epoch has more than one"), 0u);
}

TEST(ListsOfValues, AreNoFiguresOfTheLastEpoch) {
  const ImportedFile file = import_text(
      "Epoch 1: train loss 2.5, val loss 2.75\nEpoch 2: train loss 1.5, val loss 1.75\n"
      "train_loss: [2.5, 1.5]\nval_loss: [2.75, 1.75]\n");
  ASSERT_EQ(file.runs.at(0).epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[1].train_loss, 1.5);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[1].val_loss, 1.75);
  EXPECT_TRUE(file.runs[0].warnings.empty());
}

TEST(JsonDocuments, MayQuoteAnythingAndAreNoOutput) {
  EXPECT_THROW(
      import_text(
          "[\n  {\n    \"question\": \"Which batch?\",\n    \"answer\": \"Training on 4 GPUs "
          "with batch size 32, average step time: 1.5 s\"\n  }\n]\n",
          "answers.json"),
      Error);
  const ImportedFile dictionaries =
      import_text("{'loss': 2.5, 'epoch': 1.0}\n{'loss': 1.5, 'epoch': 2.0}\n", "trainer.log");
  EXPECT_EQ(dictionaries.runs.size(), 1u);
}

TEST(Nodes, OfANetworkOrAGraphAreNoMachines) {
  const ImportedFile file = import_text(
      "configured to run:\n batch nodes 2\n model nodes 4\n mini batch size: 100\n"
      "Epoch 1/2 complete, time: 22.5\nEpoch 2/2 complete, time: 21.5\n");
  EXPECT_FALSE(file.runs.at(0).nodes);
  const ImportedFile machines = import_text("num_nodes: 2\nEpoch 1/2, time: 22.5 s\n");
  EXPECT_EQ(machines.runs.at(0).nodes.value.value_or(0), 2);
}

TEST(TracesOfSteps, MarksThatEndAtOnceAreNotTheSteps) {
  const auto trace = [](double duration) {
    std::string text = "[";
    for (int i = 2; i < 5; ++i) {
      text += "{\"name\": \"ProfilerStep#" + std::to_string(i) +
              "\", \"ph\": \"X\", \"ts\": " + std::to_string(20000.0 * i) +
              ", \"dur\": " + std::to_string(duration) +
              ", \"tid\": 1, \"pid\": \"CPU functions\", \"args\": {}},";
    }
    text +=
        "{\"name\": \"aten::mm\", \"ph\": \"X\", \"ts\": 45000, \"dur\": 90, \"tid\": 1, "
        "\"pid\": \"CPU functions\", \"args\": {}}]";
    return text;
  };
  const ImportedFile moments = import_text(trace(17), "worker.pt.trace.json");
  EXPECT_EQ(moments.format, "kineto");
  EXPECT_TRUE(moments.runs.at(0).step_time.empty());
  const ImportedFile steps = import_text(trace(20000), "worker.pt.trace.json");
  EXPECT_DOUBLE_EQ(steps.runs.at(0).step_time.median(), 0.02);
}

}  // namespace
}  // namespace lockstep::import
