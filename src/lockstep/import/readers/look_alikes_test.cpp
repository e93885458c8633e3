#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/import/import_fixture.h"

namespace lockstep::import {
namespace {

// Figures that look like others: of validation like those of training, of a run like those of an
// epoch, a tag like a value.

const ImportedRun& only(const ImportedFile& file) {
  EXPECT_EQ(file.runs.size(), 1u);
  static const ImportedRun kNone;
  return file.runs.empty() ? kNone : file.runs.front();
}

TEST(NamesOfLoggers, AreNoWordsAboutTheFigures) {
  const ImportedFile file = import_text(
      "2024-01-02 10:00:00 - src.training.train - INFO - Epoch 1/2 - Train Loss: 0.5\n"
      "2024-01-02 10:00:09 - src.training.train - INFO - Validation - Loss: 0.75, F1: 0.9\n"
      "2024-01-02 10:00:20 - src.training.train - INFO - Epoch 2/2 - Train Loss: 0.25\n"
      "2024-01-02 10:00:29 - src.training.train - INFO - Validation - Loss: 0.625, F1: 0.9\n");
  const ImportedRun& run = only(file);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 0.5);
  EXPECT_DOUBLE_EQ(run.epochs[0].val_loss, 0.75);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_loss, 0.625);
}

TEST(ProgressBars, OfTheWholeRunGiveNoEpochItsTime) {
  const ImportedFile file = import_text(
      "Training:  25%|##5   | 100/400 [02:00<06:00,  1.20s/it]2024-01-02 10:02:00,123 - INFO - "
      "Epoch 1/4 - Train Loss: 0.5\n"
      "Training:  50%|##5   | 200/400 [04:00<04:00,  1.20s/it]2024-01-02 10:04:00,123 - INFO - "
      "Epoch 2/4 - Train Loss: 0.25\n"
      "Training: 100%|##5   | 400/400 [08:00<00:00,  1.20s/it]\n"
      "Training: 100%|##5   | 400/400 [08:00<00:00,  1.20s/it]\n");
  const ImportedRun& run = only(file);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 0.5) << "what a logger wrote behind the bar";
  EXPECT_DOUBLE_EQ(run.epochs[1].train_loss, 0.25);
  for (const record::EpochResult& epoch : run.epochs) EXPECT_FALSE(epoch.train_s > 0);
  EXPECT_FALSE(run.steps_per_epoch);
}

TEST(ProgressBars, OfEpochsStillGiveTheirTimes) {
  const ImportedFile file = import_text(
      "100%|#####| 50/50 [00:10<00:00,  5.00it/s]\nEpoch 1: train loss 0.5\n"
      "100%|#####| 50/50 [00:08<00:00,  6.25it/s]\nEpoch 2: train loss 0.25\n");
  const ImportedRun& run = only(file);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 10);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_s, 8);
}

TEST(TagsBesideAValue, AreNotTakenForIt) {
  const std::string epoch =
      "Epoch: [0][0/20]\tTime 1.5 (1.5)\tData 0.5 (0.5)\tLoss 3.5 (3.5)\tPrec@1 12.5 (12.5)\n"
      "Epoch: [0][19/20]\tTime 0.5 (0.55)\tData 0.1 (0.1)\tLoss 2.5 (3.0)\tPrec@1 25.0 (18.5)\n"
      "Test: [0/5]\tTime 0.5 (0.5)\tLoss 2.0 (2.0)\tPrec@1 30.0 (30.0)\n";
  const ImportedFile tagged = import_text(epoch + " * Prec@1 001 88.057 Prec@5 001 97.049\n");
  ASSERT_EQ(only(tagged).epochs.size(), 1u);
  EXPECT_TRUE(std::isnan(only(tagged).epochs[0].val_accuracy));
  const ImportedFile plain = import_text(epoch + " * Prec@1 88.057 Prec@5 97.049\n");
  EXPECT_DOUBLE_EQ(only(plain).epochs.at(0).val_accuracy, 0.88057);
}

TEST(EarlyStopping, NamesNoEpochOfTheResultsBelow) {
  const ImportedFile file = import_text(
      "Epoch 1: train loss 0.5\nEpoch 2: train loss 0.25\n"
      "Early stopping triggered at epoch 57\n");
  EXPECT_EQ(only(file).epochs.size(), 2u);
  EXPECT_THROW(import_text("Fold 1/5\nEarly stopping triggered at epoch 57\naccuracy: 0.9241\n"
                           "recall: 0.9593\nFold 2/5\nEarly stopping triggered at epoch 108\n"
                           "accuracy: 0.9233\nrecall: 0.9724\n"),
               Error)
      << "accuracies of a test";
}

TEST(TheBestSoFar, ShowsThatTheFigureBesideItMayBeOfValidation) {
  EXPECT_THROW(import_text("Epoch 1 Accuracy 58.04% / Best Accuracy: 58.04%\n"
                           "Epoch 2 Accuracy 57.50% / Best Accuracy: 58.04%\n"),
               Error);
  const ImportedFile segments = import_text(
      "Epoch: [1/2] Iter:[0/8], lr: [0.01], Loss: 2.5\nEpoch: [1/2] Iter:[7/8], lr: [0.01], Loss: "
      "1.5\nLoss: 0.985, MeanIU:  0.4960, Best_mIoU:  0.5217\n"
      "Epoch: [2/2] Iter:[0/8], lr: [0.01], Loss: 1.25\nEpoch: [2/2] Iter:[7/8], lr: [0.01], Loss: "
      "0.75\nLoss: 0.975, MeanIU:  0.5160, Best_mIoU:  0.5217\n");
  const ImportedRun& run = only(segments);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 2.0) << "the mean of what the epoch printed";
  EXPECT_DOUBLE_EQ(run.epochs[1].train_loss, 1.0);
  const ImportedFile named =
      import_text("Epoch 1 train acc 0.5 best acc 0.75\nEpoch 2 train acc 0.625 best acc 0.75\n");
  EXPECT_DOUBLE_EQ(only(named).epochs.at(1).train_accuracy, 0.625);
}

TEST(PartsBetweenBars, HaveTheirOwnSplit) {
  const ImportedFile file = import_text(
      "Epoch 1/2 | Train Loss: 0.5 Acc: 0.75 | Val Loss: 0.625 Acc: 0.6875\n"
      "Epoch 2/2 | Train Loss: 0.25 Acc: 0.875 | Val Loss: 0.5 Acc: 0.8125\n");
  const ImportedRun& run = only(file);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_accuracy, 0.875);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.8125);
}

TEST(Devices, AreStatedNotMentionedInErrors) {
  const std::string epochs = "Epoch 1: loss 0.5\nEpoch 2: loss 0.25\n";
  const auto device = [&](const std::string& line) {
    const ImportedFile file = import_text(line + "\n" + epochs);
    return only(file).device ? *only(file).device : std::string();
  };
  EXPECT_EQ(device("ERROR - indices should be either on cpu or on the same device as the tensor"),
            "");
  EXPECT_EQ(device("## Training on CPU or Single GPU"), "");
  EXPECT_EQ(device("Training runs on cpu"), "cpu");
  EXPECT_EQ(device("Using GPU: NVIDIA GeForce RTX 3060"), "NVIDIA GeForce RTX 3060");
  EXPECT_EQ(device("GPU          : NVIDIA A100-SXM4-40GB"), "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(device("GPU available: Radeon RX 7900 GRE"), "Radeon RX 7900 GRE");
  EXPECT_EQ(device("Using device: cuda (Tesla T4)"), "Tesla T4");
  EXPECT_EQ(device("GPU available: True"), "");
}

TEST(PlannedEpochs, BelongToTheRunThatBegins) {
  const ImportedFile file = import_text(
      "Epoch 1/2\nAverage Training loss: 0.5\nEpoch 2/2\nAverage Training loss: 0.25\n"
      "Epoch 1/3\nAverage Training loss: 0.75\nEpoch 2/3\nAverage Training loss: 0.5\n"
      "Epoch 3/3\nAverage Training loss: 0.375\n");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(*file.runs[0].epochs_planned, 2);
  EXPECT_EQ(file.runs[0].epochs.size(), 2u);
  EXPECT_EQ(*file.runs[1].epochs_planned, 3);
  EXPECT_EQ(file.runs[1].epochs.size(), 3u);
}

TEST(EpochNames, InCapitalsAndShort) {
  const ImportedFile capitals = import_text(
      "EPOCH: 0\nTraining loss: 0.5, accuracy: 75.0\nEval loss: 0.375, accuracy: 87.5\n"
      "EPOCH: 1\nTraining loss: 0.25, accuracy: 85.0\nEval loss: 0.125, accuracy: 90.0\n");
  ASSERT_EQ(only(capitals).epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(only(capitals).epochs[1].train_accuracy, 0.85);
  EXPECT_DOUBLE_EQ(only(capitals).epochs[1].val_accuracy, 0.9);
  const ImportedFile brief = import_text(
      "Ep  1 | loss 0.5 | tr_acc 0.75 | compute 113.2s\nEp  2 | loss 0.25 | tr_acc 0.875\n"
      "Ep 10 | loss 0.125 | tr_acc 0.9375\n");
  ASSERT_EQ(only(brief).epochs.size(), 3u);
  EXPECT_EQ(only(brief).epochs[2].epoch, 10);
  EXPECT_DOUBLE_EQ(only(brief).epochs[2].train_loss, 0.125);
}

TEST(PlacesInAnEpoch, BehindTheFigureOrByOtherNames) {
  const ImportedFile behind = import_text(
      "Epoch 1\n-------------------------------\nloss: 2.5  [   64/60000]\nloss: 1.5  [ "
      "6464/60000]\nTest Error: \n Accuracy: 50.0%, Avg loss: 2.125 \n"
      "Epoch 2\n-------------------------------\nloss: 1.5  [   64/60000]\nloss: 1.25  [ "
      "6464/60000]\nTest Error: \n Accuracy: 75.0%, Avg loss: 1.125 \n");
  const ImportedRun& run = only(behind);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 2.0);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.75);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_loss, 1.125);
  const ImportedFile other =
      import_text("epoch=0 i=0/4 loss=2.5\nepoch=0 i=3/4 loss=1.5\nepoch=1 i=0/4 loss=1.0\n");
  EXPECT_EQ(only(other).train_loss.count(), 3u);
  EXPECT_TRUE(only(other).warnings.empty());
  const ImportedFile paddle = import_text(
      "epoch: 0, batch_id: 0, loss: 0.5\nepoch: 0, batch_id: 500, loss: 0.375\n"
      "epoch: 0 done, loss: 0.4375, epoch time: 12.5 s\n"
      "epoch: 1, batch_id: 0, loss: 0.25\nepoch: 1 done, loss: 0.1875, epoch time: 11.5 s\n");
  ASSERT_EQ(only(paddle).epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(only(paddle).epochs[0].train_loss, 0.4375);
  EXPECT_DOUBLE_EQ(only(paddle).epochs[1].train_s, 11.5);
}

TEST(IndentedBlocks, OfMarkdownAreReadLikeFencedOnes) {
  const std::string output =
      "    Epoch 1/2\n    10/10 - 2s - loss: 0.5 - val_loss: 0.625\n    Epoch 2/2\n"
      "    10/10 - 1s - loss: 0.25 - val_loss: 0.5\n";
  const ImportedFile file = import_text("## Training\n\n" + output + "\nDone.\n", "notebook.md");
  ASSERT_EQ(only(file).epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(only(file).epochs[1].val_loss, 0.5);
  EXPECT_THROW(import_text("## Steps\n\n- train it\n\n" + output, "list.md"), Error)
      << "what goes on with an item of a list is prose";
}

TEST(Dates, AreNoTimesOfAnEpoch) {
  const ImportedFile file = import_text(
      "[epoch:1/3] [loss:0.5] [Time:[2022-08-28 00:11:31]] [total time:0:02:28]\n"
      "[epoch:2/3] [loss:0.25] [Time:[2022-08-28 00:13:59]] [total time:0:02:28]\n");
  ASSERT_EQ(only(file).epochs.size(), 2u);
  for (const record::EpochResult& epoch : only(file).epochs) EXPECT_FALSE(epoch.train_s > 0);
  EXPECT_FALSE(only(file).total_s);
}

TEST(TotalsOnTheLinesOfEpochs, AreNoneOfTheRun) {
  const std::string epochs =
      "Train epoch 1, total time 21.5, accuracy: 11.0\n"
      "Train epoch 2, total time 18.5, accuracy: 12.5\n";
  EXPECT_FALSE(only(import_text(epochs)).total_s);
  const ImportedFile summed = import_text(epochs + "Total training time: 41.5 s\n");
  EXPECT_DOUBLE_EQ(only(summed).total_s.value_or(0), 41.5);
}

TEST(NamesBeforeAValue, AreNoNetworks) {
  const ImportedFile file = import_text(
      "125 iterations per epoch. 12500 max iterations\n"
      "iteration 50, epoch 0 : loss : 2.5, lr: 0.001\n"
      "iteration 100, epoch 0 : loss : 1.5, lr: 0.001\n"
      "Testing performance in val model: mean_dice : 0.25, best_dice : 0.25\n"
      "iteration 150, epoch 1 : loss : 1.25, lr: 0.001\n");
  const ImportedRun& run = only(file);
  EXPECT_NE(run.model ? *run.model : "", "mean_dice");
  EXPECT_FALSE(run.steps_per_epoch) << "12500 is of the run";
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 2.0) << "the mean of what the epoch printed";
}

TEST(ListsOfNumPy, HaveNoSingleValue) {
  const ImportedFile file = import_text(
      "Epoch 1: loss 0.5\nNew best found on epoch 176 for dataset A\n"
      "Mean accuracy: [0.29815042 0.35907445 0.4087231]\n");
  ASSERT_EQ(only(file).epochs.size(), 1u);
  EXPECT_EQ(only(file).epochs[0].epoch, 1);
  EXPECT_TRUE(std::isnan(only(file).epochs[0].train_accuracy));
}

TEST(Sentences, NameTheirFiguresWithAVerb) {
  const ImportedFile file = import_text(
      "epoch: 1 step: 100, loss is 2.5\nepoch: 1 step: 200, loss is 1.5\n"
      "epoch time: 74139.5 ms, per step time: 370.5 ms\n"
      "epoch: 2 step: 100, loss is 1.25\nepoch: 2 step: 200, loss is 0.75\n"
      "epoch time: 73139.5 ms, per step time: 365.5 ms\n");
  const ImportedRun& run = only(file);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 2.0);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_s, 73.1395);
}

TEST(SettingsOfAProgram, AreNoEpochs) {
  const ImportedFile file = import_text(
      "Namespace(start_epoch=0, save_epoch=10, lr=0.02, batch_size=8)\n"
      "Iters: 10/20000 || Lr: 0.019992 || Task Loss: 2.5\n"
      "Iters: 20/20000 || Lr: 0.019984 || Task Loss: 2.25\nTotal training time: 2:49:33\n");
  for (const ImportedRun& run : file.runs) EXPECT_TRUE(run.epochs.empty());
}

TEST(HeadingsOfTraining, KeepNetworksApart) {
  const ImportedFile file = import_text(
      "Training ResNet18 for 2 epochs with learning rate 0.01...\n"
      "Epoch: 001/002 | Train Acc: 50.0%\nEpoch: 002/002 | Train Acc: 75.0%\n"
      "Training ResNet18_With_Dropout for 2 epochs with learning rate 0.01...\n"
      "Epoch: 001/002 | Train Acc: 40.0%\nEpoch: 002/002 | Train Acc: 60.0%\n");
  ASSERT_EQ(file.runs.size(), 2u);
  ASSERT_TRUE(file.runs[0].model && file.runs[1].model);
  EXPECT_NE(*file.runs[0].model, *file.runs[1].model);
}

TEST(WordsBetweenRules, HeadRunsThatNothingElseKeepsApart) {
  const auto run = [](double loss) {
    return "Epoch 1 | train loss " + std::to_string(loss) + "\nEpoch 2 | train loss 0.25\n";
  };
  const ImportedFile file = import_text("=== SGD ===\n" + run(0.75) + "=== Adam ===\n" + run(0.5));
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(file.runs[0].notes.at("heading"), "SGD");
  EXPECT_NE(*file.runs[0].model, *file.runs[1].model);
  const ImportedFile same =
      import_text("=== Run 1/2 ===\n" + run(0.75) + "=== Run 2/2 ===\n" + run(0.5));
  ASSERT_EQ(same.runs.size(), 2u);
  EXPECT_EQ(*same.runs[0].model, *same.runs[1].model) << "repeats of one run";
}

TEST(JsonOfOneRun, HasItsEpochsInAList) {
  const ImportedFile file = import_text(
      "{\"run_name\": \"baseline\", \"config\": {\"batch_size\": 16, \"world_size\": 2},\n"
      " \"best_val_accuracy\": 0.875,\n \"history\": [\n"
      "  {\"epoch\": 1, \"train_loss\": 0.5, \"val_accuracy\": 0.75, \"epoch_time_s\": 12.5},\n"
      "  {\"epoch\": 2, \"train_loss\": 0.25, \"val_accuracy\": 0.875, \"epoch_time_s\": 11.5}]}\n",
      "metrics.json");
  const ImportedRun& run = only(file);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.875);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_s, 12.5);
  EXPECT_EQ(*run.workers, 2);
}

TEST(Evaluations, HaveTheirOwnCountsAndAccuracies) {
  const ImportedFile estimator = import_text(
      "INFO:tensorflow:***** Running training *****\nINFO:tensorflow:  Num examples = 70000\n"
      "INFO:tensorflow:global_step/sec: 2.5\nINFO:tensorflow:loss = 0.5, step = 100 (40.0 sec)\n"
      "INFO:tensorflow:global_step/sec: 2.0\nINFO:tensorflow:loss = 0.25, step = 200 (50.0 sec)\n"
      "INFO:tensorflow:***** Running evaluation *****\nINFO:tensorflow:  Num examples = 32477\n");
  EXPECT_EQ(*only(estimator).examples, 70000);
  const ImportedFile spans = import_text(
      "Epoch 1: loss 0.5\naccuracy:  78.49%; precision:  79.06%; recall:  56.67%; FB1:  66.02\n"
      "Epoch 2: loss 0.25\naccuracy:  88.49%; precision:  89.06%; recall:  66.67%; FB1:  76.02\n");
  for (const record::EpochResult& epoch : only(spans).epochs)
    EXPECT_TRUE(std::isnan(epoch.train_accuracy));
}

TEST(Totals, BetweenEpochsAreNoneOfTheRun) {
  const ImportedFile file = import_text(
      "=== Epoch 1/2 ===\n[step 25] avg_loss=0.5\nTotal time: 4 hours, so she is late.\n"
      "=== Epoch 2/2 ===\n[step 50] avg_loss=0.25\n");
  EXPECT_FALSE(only(file).total_s);
}

TEST(Totals, OfASumAreNoneOfTheRun) {
  const ImportedFile file = import_text(
      "=== Epoch 1/2 ===\navg_loss=0.5\n=== Epoch 2/2 ===\navg_loss=0.25\n"
      "3. Total time: 4 + 2 = 6 hours\n* Calculate the total time:3+2=5\n");
  EXPECT_FALSE(only(file).total_s);
}

TEST(BarsThatNeverEnd, AreNotTheSplitOfTheMessageBehind) {
  const ImportedFile file = import_text(
      "Training: |          | 0/? [00:00<?, ?it/s]\n"
      "Validation: |          | 0/? [00:00<?, ?it/s][12/09/24 14:03:31] INFO   Epoch 0: "
      "v_loss 4.5e+00  loss 5.25e+00\n"
      "Validation: |          | 0/? [00:00<?, ?it/s][12/09/24 14:07:00] INFO   Epoch 1: "
      "v_loss 4.0e+00  loss 4.25e+00\n");
  ASSERT_EQ(only(file).epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(only(file).epochs[0].train_loss, 5.25);
}

TEST(Places, BelowAHeadingOfValidationAreNoneOfTraining) {
  const ImportedFile file = import_text(
      "Epoch 1\nloss: 2.5  [   64/60000]\nValidating\nloss: 7.5  [   64/10000]\n"
      "Epoch 2\nloss: 1.5  [   64/60000]\nValidating\nloss: 6.5  [   64/10000]\n");
  ASSERT_EQ(only(file).epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(only(file).epochs[0].train_loss, 2.5);
  EXPECT_DOUBLE_EQ(only(file).epochs[1].train_loss, 1.5);
}

TEST(Places, InBracketsBeforeTheEpoch) {
  const ImportedFile file = import_text(
      "[batch 10/20, epoch 1/2]: loss_inv:0.01 loss: 2.5\n"
      "[batch 20/20, epoch 1/2]: loss_inv:0.01 loss: 1.5\n"
      "[batch 20/20, epoch 2/2]: loss_inv:0.01 loss: 1.25\n");
  ASSERT_EQ(only(file).epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(only(file).epochs[0].train_loss, 2.0);
  const ImportedFile steps = import_text(
      "iter_dt 0.00ms; iter 0: train loss 1.5\niter_dt 18.50ms; iter 100: train loss 0.5\n"
      "iter_dt 18.48ms; iter 200: train loss 0.25\n");
  EXPECT_EQ(only(steps).train_loss.count(), 3u);
}

TEST(SplitModels, LeaveTheWorkersOpen) {
  const ImportedFile file = import_text(
      "> number of parameters on (tensor, pipeline) model parallel rank (1, 0): 210753280\n"
      "> number of parameters on (tensor, pipeline) model parallel rank (0, 1): 209445120\n"
      "  Instantaneous batch size per device = 24\n"
      "  Total train batch size (w. parallel, distributed & accumulation) = 48\n"
      "epoch 0: perplexity: 1222.1 eval_loss: 7.125\nepoch 1: perplexity: 800.5 eval_loss: 6.5\n");
  EXPECT_FALSE(only(file).workers) << "2 of data parallelism, on 4 devices";
}

}  // namespace
}  // namespace lockstep::import
