#include <gtest/gtest.h>

#include "lockstep/import/import_fixture.h"

namespace lockstep::import {
namespace {

// The forms in which the field studies were printed, damage of text recognition included.

TEST(StudyForms, HeadingsTellRunsApartAndTheLastEpochsRateIsNotTheMean) {
  const ImportedFile file = import_fixture("examples_per_second_headings.txt");
  ASSERT_EQ(file.runs.size(), 3u);
  EXPECT_EQ(file.runs[0].notes.at("heading"), "node - 2 CPUs");
  EXPECT_EQ(*file.runs[0].device, "cpu");
  EXPECT_EQ(*file.runs[0].examples, 40597);
  EXPECT_EQ(*file.runs[0].epochs_planned, 1);
  EXPECT_DOUBLE_EQ(*file.runs[0].reported_throughput, 27.5);
  EXPECT_DOUBLE_EQ(*file.runs[0].total_s, 1476.7);
  EXPECT_NE(*file.runs[1].model, *file.runs[2].model) << "two machines, one kind of device";
  EXPECT_EQ(*file.runs[2].epochs_planned, 20);
  EXPECT_DOUBLE_EQ(*file.runs[2].epoch_s, 27.8);
  EXPECT_DOUBLE_EQ(*file.runs[2].total_s, 556.75);
  EXPECT_FALSE(file.runs[2].reported_throughput) << "1487.5 is the rate of the 20th epoch";
  EXPECT_DOUBLE_EQ(file.runs[2].other.at("last_epoch_throughput").last(), 1487.5);
}

TEST(StudyForms, LadderOfBatchesEndsWhereMemoryDoes) {
  const ImportedFile file = import_fixture("transcript_ladder.log");
  ASSERT_EQ(file.runs.size(), 3u);
  EXPECT_EQ(*file.runs[0].batch_per_worker, 32);
  EXPECT_DOUBLE_EQ(*file.runs[0].epoch_s, 14.25);
  EXPECT_DOUBLE_EQ(*file.runs[1].epoch_s, 4.125);
  EXPECT_TRUE(file.runs[2].out_of_memory);
  EXPECT_EQ(*file.runs[2].batch_per_worker, 8192);
  EXPECT_EQ(*file.runs[0].workers, 1) << "the message names the count";
  EXPECT_EQ(file.runs[0].workers.from, Provenance::kDerived);
}

TEST(StudyForms, DamagedLinesOfAHorovodRunGiveTheEndAndNoEpochNumbers) {
  const ImportedFile file = import_fixture("horovod_damaged.log");
  EXPECT_EQ(file.format, "keras");
  ASSERT_EQ(file.runs.size(), 1u);
  const ImportedRun& run = file.runs[0];
  EXPECT_FALSE(run.workers) << "rank 4 is a misreading";
  EXPECT_TRUE(run.epochs.empty());
  EXPECT_DOUBLE_EQ(run.at_end->train_loss, 0.029);
  EXPECT_DOUBLE_EQ(run.at_end->train_accuracy, 0.1949);
  EXPECT_DOUBLE_EQ(run.at_end->val_loss, 0.0326);
  EXPECT_DOUBLE_EQ(run.at_end->val_accuracy, 0.1818);
  EXPECT_FALSE(run.epoch_s) << "4 s or 6 s";
}

TEST(StudyForms, HistoriesInATextExplainItsTables) {
  const ImportedFile file = import_fixture("frames_histories.txt");
  EXPECT_EQ(file.format, "frames");
  ASSERT_EQ(file.runs.size(), 4u);
  EXPECT_DOUBLE_EQ(*file.runs[0].epoch_s, 12);
  EXPECT_EQ(*file.runs[2].workers, 2);
  EXPECT_EQ(*file.runs[2].global_batch, 64) << "as many steps on two workers as on one";
  EXPECT_EQ(*file.runs[2].batch_per_worker, 32);
  EXPECT_DOUBLE_EQ(*file.runs[2].epoch_s, 7);
  EXPECT_DOUBLE_EQ(file.runs[2].at_end->train_loss, 1.462412);
  EXPECT_DOUBLE_EQ(*file.runs[3].epoch_s, 5);
}

TEST(StudyForms, TimesThatContradictTheHistoriesStayUnknown) {
  std::string text = fixture_text("frames_histories.txt");
  const std::size_t at = text.find("  12.0");
  text.replace(at, 6, "  13.0");
  text.replace(text.find("  12.0", at), 6, "  13.0");
  const ImportedFile file = import_text(text);
  for (const ImportedRun& run : file.runs) EXPECT_FALSE(run.epoch_s);
}

/// The text with `part` replaced, which it must have.
std::string with_other(std::string text, const std::string& part, const std::string& other) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return at == std::string::npos ? text : text.replace(at, part.size(), other);
}

TEST(StudyForms, HistoriesThatTextRecognitionToreGiveTheirLosses) {
  const std::string whole = fixture_text("frames_histories.txt");
  const std::string torn =
      with_other(whole, "'sgd_dp_batch_size_64_2gpus':", "'sgd_dp_batc\th_size_64_2g\t");
  EXPECT_DOUBLE_EQ(import_text(torn).runs.at(2).at_end->train_loss, 1.462412);
  // Without the names of its last columns.
  const std::size_t at = whole.find("_64_2gpus'");
  std::string nameless = whole.substr(at);
  nameless = with_other(nameless, "train_loss_step  epoch  _timestamp", "");
  EXPECT_DOUBLE_EQ(import_text(whole.substr(0, at) + nameless).runs.at(2).at_end->train_loss,
                   1.462412);
  // Without the name of the second part: the other histories of the text name it.
  std::string unnamed = with_other(whole.substr(at), "train_loss_epoch", "");
  unnamed = with_other(unnamed, "1.462412  \n", "1.462412  \n\n[8 rows x 7 columns]");
  EXPECT_DOUBLE_EQ(import_text(whole.substr(0, at) + unnamed).runs.at(2).at_end->train_loss,
                   1.462412);
}

}  // namespace
}  // namespace lockstep::import
