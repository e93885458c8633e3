#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lockstep/import/import_fixture.h"
#include "lockstep/import/scan/rank_prefix.h"

namespace lockstep::import {
namespace {

// Lines as scripts print them.

bool warns_of(const ImportedRun& run, std::string_view words) {
  return std::any_of(run.warnings.begin(), run.warnings.end(), [&](const std::string& warning) {
    return warning.find(words) != std::string::npos;
  });
}

TEST(StepLines, NeedNoSeparatorBehindTheStep) {
  const ImportedFile file = import_fixture("steps_bare.log");
  EXPECT_EQ(file.format, "transcript");
  ASSERT_EQ(file.runs.size(), 1u);
  const ImportedRun& run = file.runs[0];
  EXPECT_EQ(*run.workers, 2);
  EXPECT_EQ(run.throughput.count(), 4u);
  EXPECT_DOUBLE_EQ(run.throughput.last(), 12.4);
  EXPECT_DOUBLE_EQ(run.train_loss.last(), 3.71);
}

TEST(StepLines, UnitsTellRatesOfStepsTokensAndImagesApart) {
  const auto steps = [](const std::string& rate) {
    return import_text("iter 10 loss 4.5 lr 0.1 12.5 " + rate + "\niter 20 loss 4.2 lr 0.1 12.5 " +
                       rate + "\niter 30 loss 4.1 lr 0.1 12.5 " + rate + "\n")
        .runs.at(0);
  };
  EXPECT_DOUBLE_EQ(steps("it/s").step_time.last(), 0.08);
  EXPECT_DOUBLE_EQ(steps("tokens/s").other.at("tokens_per_s").last(), 12.5);
  EXPECT_DOUBLE_EQ(steps("img/s").throughput.last(), 12.5);
  EXPECT_DOUBLE_EQ(steps("ms/step").step_time.last(), 0.0125);
  const ImportedRun ratio =
      import_text(
          "Step 1/9 loss=2.5 3.2s/it\nStep 2/9 loss=2.4 3.1s/it\nStep 3/9 loss=2.3 3.1s/it\n")
          .runs.at(0);
  EXPECT_DOUBLE_EQ(ratio.train_loss.last(), 2.3);
}

TEST(EpochLines, FiguresMayStandBeforeTheEpochOrBeNamedThere) {
  for (const char* form : {"took {}s for epoch {}", "{} seconds for epoch {}"}) {
    const ImportedRun run = import_text(fmt::format(fmt::runtime(form), 83.5, 1) + "\n" +
                                        fmt::format(fmt::runtime(form), 81.25, 2) + "\n")
                                .runs.at(0);
    ASSERT_EQ(run.epochs.size(), 2u) << form;
    EXPECT_DOUBLE_EQ(run.epochs[1].train_s, 81.25) << form;
  }
  const ImportedRun named = import_text(
                                "Loading time for epoch 1: 3.5 sec\n"
                                "Time taken for epoch 1: 25.25 sec\nTrain loss for epoch 1: 1.5\n"
                                "Loading time for epoch 2: 3.25 sec\n"
                                "Time taken for epoch 2: 24.5 sec\nTrain loss for epoch 2: 1.25\n")
                                .runs.at(0);
  ASSERT_EQ(named.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(named.epochs[0].train_s, 25.25);
  EXPECT_DOUBLE_EQ(named.epochs[1].train_loss, 1.25);
  EXPECT_FALSE(named.total_s);
}

TEST(EpochLines, TimeBesideAnIterationIsNotThatOfTheEpoch) {
  for (const char* place : {"iters: 100", "Step: 100", "iteration=100", "Batch: 100"}) {
    const ImportedRun run =
        import_text(fmt::format("(epoch: 1, {0}, time: 0.325, data: 0.15) loss: 1.5\n"
                                "(epoch: 2, {0}, time: 0.375, data: 0.15) loss: 1.25\n",
                                place))
            .runs.at(0);
    ASSERT_EQ(run.epochs.size(), 2u) << place;
    EXPECT_EQ(run.epochs[0].train_s, 0) << place;
    EXPECT_DOUBLE_EQ(run.epochs[1].train_loss, 1.25) << place;
  }
}

TEST(EpochLines, TimesOfBatchesAreNoPlacesInTheEpoch) {
  const ImportedRun run =
      import_text(
          "Epoch: 1  Loss: 1.5  Time per batch: 0.125s  Epoch duration: 0:00:48\n"
          "Epoch: 2  Loss: 1.25  Time per batch: 0.12s  Epoch duration: 0:00:47\n")
          .runs.at(0);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_loss, 1.25);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_s, 47);
}

TEST(EpochLines, SettingsOnALineWithAnEpochAreNoIteration) {
  const ImportedRun run = import_text(
                              "Namespace(batch_size=32, resume_epoch=0, new_step=1, num_gpus=8)\n"
                              "[Epoch 0] loss=1.5 time: 9.5\n[Epoch 1] loss=1.25 time: 8.5\n")
                              .runs.at(0);
  EXPECT_EQ(*run.workers, 8);
  EXPECT_EQ(run.epochs.size(), 2u);
}

TEST(StepLines, AccuracyAboveOneIsAPercentage) {
  const ImportedRun run = import_text(
                              "Step 50/90; acc: 3.25; xent: 9.5; 5250/6100 tok/s; 60 sec\n"
                              "Step 60/90; acc: 5.25; xent: 8.5; 5250/6100 tok/s; 70 sec\n"
                              "Step 70/90; acc: 5.5; xent: 8.25; 5250/6100 tok/s; 80 sec\n"
                              "Validation accuracy: 8.5\n")
                              .runs.at(0);
  EXPECT_DOUBLE_EQ(run.at_end->val_accuracy, 0.085);
}

TEST(EpochLines, SummariesDoNotReplaceFiguresOfTheLastEpoch) {
  const ImportedRun run = import_text(
                              "Epoch: 1 | Train Loss: 1.5 | Throughput: 1250.5 samples/sec\n"
                              "Epoch: 2 | Train Loss: 1.25 | Throughput: 1260.5 samples/sec\n"
                              "Average throughput: 1255.5 samples/sec\n")
                              .runs.at(0);
  EXPECT_DOUBLE_EQ(run.epochs.at(1).examples_per_s, 1260.5);
  const ImportedRun saved =
      import_text("Epoch 5: loss 0.5\nSaved model at epoch 5 with accuracy 91.5%\n").runs.at(0);
  EXPECT_FALSE(std::isfinite(saved.epochs.at(0).train_accuracy)) << "of training or of a test?";
}

TEST(EpochLines, TrainAndValBesideALossAreAccuracies) {
  const ImportedRun run = import_text(
                              "[Epoch 0] train=0.4375 val=0.5625 loss=1.625 time: 16.25\n"
                              "[Epoch 1] train=0.625 val=0.6875 loss=1.125 time: 15.75\n")
                              .runs.at(0);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_accuracy, 0.625);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.6875);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_loss, 1.125);
  const ImportedRun either =
      import_text("Epoch 1 train=0.4375 val=0.5625 time: 16.25\n").runs.at(0);
  EXPECT_FALSE(std::isfinite(either.epochs.at(0).val_accuracy)) << "losses or accuracies?";
}

TEST(EpochLines, NumberMayBeGluedToItsName) {
  const ImportedRun run = import_text(
                              "Epoch 0 | loss4.75 | epoch time26.5s\nsaved ckpt/acc0.93.pt\n"
                              "Epoch 1 | loss3.25 | epoch time22.75s\n")
                              .runs.at(0);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 4.75);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_s, 22.75);
  EXPECT_FALSE(run.epochs[0].train_accuracy == 0.93);
}

TEST(EpochLines, TrainingThatIsCompleteAfterSeveralEpochsTookTheWholeTime) {
  const std::string epochs = "Epoch [1/2], Loss: 2.5\nEpoch [2/2], Loss: 1.5\n";
  const ImportedRun run = import_text(epochs + "Training complete in: 0:01:35.25\n").runs.at(0);
  EXPECT_DOUBLE_EQ(*run.total_s, 95.25);
  EXPECT_EQ(run.epochs.at(1).train_s, 0);
  EXPECT_FALSE(import_text(epochs + "Training time: 95.25 s\n").runs.at(0).total_s);
}

TEST(StepLines, ThousandsAreNotCutOff) {
  const ImportedRun run = import_text(
                              "Epoch 1, throughput: 1.5k img/s, loss 1.5\n"
                              "Epoch 2, throughput: 1.5k img/s, loss 1.4\n")
                              .runs.at(0);
  EXPECT_DOUBLE_EQ(run.throughput.last(), 1500);
}

TEST(StepLines, UnitsMayStandBeforeTheNumber) {
  const ImportedRun run =
      import_text(
          "| epoch   1 |   200/ 2983 batches | lr 5.00 | ms/batch 14.5 | loss  8.11 | ppl  "
          "3341.22\n"
          "| end of epoch   1 | time: 42.31s | valid loss  5.79 | valid ppl   327.25\n")
          .runs.at(0);
  EXPECT_DOUBLE_EQ(run.step_time.last(), 0.0145);
  EXPECT_DOUBLE_EQ(run.epochs.at(0).val_loss, 5.79);
  const std::string line = " | loss 4.5 | tokens/s: 12,345 | speed 3,000 tok/s/gpu\n";
  const ImportedRun tokens =
      import_text("Step 10" + line + "Step 20" + line + "Step 30" + line).runs.at(0);
  EXPECT_DOUBLE_EQ(tokens.other.at("tokens_per_s").last(), 12345);
  EXPECT_EQ(tokens.other.at("tokens_per_s").count(), 3u)
      << "a rate of one device is no rate of all";
}

TEST(RankLines, EpochsOfRanksAreOneRunPerHeading) {
  const ImportedFile file = import_fixture("transcript_ranks.log");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(*file.runs[0].workers, 2);
  EXPECT_EQ(*file.runs[1].workers, 3);
  ASSERT_EQ(file.runs[1].epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[0].train_s, 22.3);
  EXPECT_DOUBLE_EQ(file.runs[1].epochs[1].train_s, 11.3);
}

TEST(RankLines, RanksInOtherPlacesAreToldApartToo) {
  for (const std::string form :
       {"[rank{}]: Epoch 1 loss 1.{} time 3.{} s", "Epoch: 1 | Rank: {} | loss: 1.{} | time: 3.{}s",
        "2024-05-01 12:00:00 [Rank {}] epoch 1 loss 1.{} time 3.{} s"}) {
    std::string text;
    for (int rank = 0; rank < 3; ++rank) {
      std::string line = form;
      for (std::size_t at = line.find("{}"); at != std::string::npos; at = line.find("{}"))
        line.replace(at, 2, std::to_string(rank));
      text += line + "\n";
    }
    const ImportedRun run = import_text(text).runs.at(0);
    EXPECT_EQ(*run.workers, 3) << text;
    ASSERT_EQ(run.epochs.size(), 1u) << text;
    EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 1.0) << text;
  }
}

TEST(RankLines, NumberInBracketsIsARankWhereSeveralPrintOneEpoch) {
  const ImportedFile file = import_fixture("transcript_bare_ranks.log");
  ASSERT_EQ(file.runs.size(), 1u);
  EXPECT_EQ(*file.runs[0].workers, 3);
  ASSERT_EQ(file.runs[0].epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[1].train_s, 11.5);
  const ImportedRun counter =
      import_text("[1] epoch 1 loss 1.5\n[2] epoch 2 loss 1.25\n[3] epoch 3 loss 1.125\n")
          .runs.at(0);
  EXPECT_FALSE(counter.workers);
  EXPECT_EQ(counter.epochs.size(), 3u) << "the number counts epochs";
}

TEST(RankLines, RanksMayNameThemselvesOnlyWhereAnEpochBegins) {
  std::string text;
  for (const char* rank : {"1", "0"}) {
    text += fmt::format(
        "[GPU{0}] Epoch 0 | Batchsize: 32 | Steps: 64\nEpoch 0 | loss 2.{0}5 | time 9.{0}5 s\n",
        rank);
    text += fmt::format(
        "[GPU{0}] Epoch 1 | Batchsize: 32 | Steps: 64\nEpoch 1 | loss 1.{0}5 | time 8.{0}5 s\n",
        rank);
  }
  const ImportedFile file = import_text(text);
  ASSERT_EQ(file.runs.size(), 1u);
  EXPECT_EQ(*file.runs[0].workers, 2);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs.at(1).train_s, 8.15);
}

TEST(RankLines, ACountIsStatedOrEveryRankWasSeen) {
  const ImportedRun leaders = import_text(
                                  "[rank0]: Epoch 1 loss 1.5 time 10.1 s\n"
                                  "[rank4]: Epoch 1 loss 1.6 time 10.2 s\n")
                                  .runs.at(0);
  EXPECT_FALSE(leaders.workers) << "0 and 4 of how many?";
  EXPECT_TRUE(warns_of(leaders, "--set workers=N"));
  const ImportedRun stated = import_text(
                                 "[Rank 0/8] Epoch 1 loss 1.5 time 10.1 s\n"
                                 "[Rank 1/8] Epoch 1 loss 1.6 time 10.2 s\n")
                                 .runs.at(0);
  EXPECT_EQ(*stated.workers, 8);
  const ImportedRun one =
      import_text("[GPU0] Epoch 1 loss 1.5\n[GPU0] Epoch 2 loss 1.4\n").runs.at(0);
  EXPECT_FALSE(one.workers) << "rank 0 alone prints in runs of any size";
}

TEST(RankLines, EpochsWithoutFiguresGiveWhatTheyState) {
  const ImportedRun run = import_fixture("transcript_gpus.log").runs.at(0);
  EXPECT_EQ(*run.workers, 2);
  EXPECT_EQ(*run.batch_per_worker, 32);
  EXPECT_EQ(*run.steps_per_epoch, 64);
  EXPECT_FALSE(run.has_figures());
  EXPECT_TRUE(warns_of(run, "epochs 0 to 1 are named"));
  const std::string twice = fixture_text("transcript_gpus.log");
  std::string nodes;
  for (std::size_t at = 0; at < twice.size();) {
    const std::size_t stop = twice.find('\n', at) + 1;
    nodes += twice.substr(at, stop - at) + twice.substr(at, stop - at);
    at = stop;
  }
  EXPECT_FALSE(import_text(nodes).runs.at(0).workers) << "GPU 0 of two nodes";
}

TEST(RankLines, DevicesAndFiguresAreNoRanks) {
  for (const std::string_view line :
       {"GPU 0: Tesla V100-SXM2-16GB (UUID: GPU-1)", "Epoch 3 mean rank 120 hits 0.4",
        "Epoch 3 lora rank: 16.5 loss 0.1", "Worker 3: loading images"})
    EXPECT_EQ(split_rank(line, PrefixStyle::kNamed).rank, -1) << line;
}

TEST(Times, TotalBelowTimedEpochsIsThatOfTheRun) {
  const std::string epochs =
      "Epoch 1: loss 1.5 time 82.5 s\nEpoch 2: loss 1.4 time 81.5 s\nEpoch 3: loss 1.3 time 81.0 "
      "s\n";
  EXPECT_DOUBLE_EQ(*import_text(epochs + "Training finished in 0:04:07.5\n").runs.at(0).total_s,
                   247.5);
  const ImportedRun part = import_text(epochs + "Training finished in 80 seconds\n").runs.at(0);
  EXPECT_FALSE(part.total_s);
  EXPECT_DOUBLE_EQ(part.epochs.at(2).train_s, 81.0) << "nor does it replace the time of an epoch";
}

TEST(Times, MeansUnderHeadingsNeedNoEpochs) {
  const ImportedFile file = import_text(
      "Results with 1 GPU:\n  avg epoch time: 44.5s\n  test accuracy: 91.2%\n"
      "Results with 2 GPUs:\n  avg epoch time: 23.1s\n  test accuracy: 91.0%\n");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(*file.runs[1].workers, 2);
  EXPECT_DOUBLE_EQ(*file.runs[1].epoch_s, 23.1);
}

TEST(Times, SentencesAndUnitsOfAnEpochsLine) {
  const ImportedRun run =
      import_text(
          "Epoch 1/2 finished. Validation accuracy: 71.5%. Training loss: 0.812. Time: 2.5 min\n"
          "Epoch 2/2 finished. Validation accuracy: 75.5%. Training loss: 0.612. Time: 2.5 min\n")
          .runs.at(0);
  EXPECT_DOUBLE_EQ(run.epochs.at(1).train_loss, 0.612);
  EXPECT_DOUBLE_EQ(run.epochs.at(1).val_accuracy, 0.755);
  EXPECT_DOUBLE_EQ(run.epochs.at(1).train_s, 150);
  const ImportedRun per =
      import_text("Epoch 1 loss 2.5 (12.5 s/epoch)\nEpoch 2 loss 2.4 (12.0 s/epoch)\n").runs.at(0);
  EXPECT_DOUBLE_EQ(per.epochs.at(1).train_s, 12.0);
}

}  // namespace
}  // namespace lockstep::import
