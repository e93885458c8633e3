#include <gtest/gtest.h>

#include "lockstep/import/import_fixture.h"

namespace lockstep::import {
namespace {

// What a table does not state is asked for, and what nobody ran is not read.

TEST(TableDoubts, TimeWithoutAUnitIsNotGuessed) {
  const std::string table = "GPUs | time per epoch | total time\n1 | 44 | 440\n2 | 23 | 230\n";
  const ImportedFile file = import_text(table);
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_FALSE(file.runs[0].epoch_s);
  EXPECT_FALSE(file.runs[0].total_s);
  EXPECT_DOUBLE_EQ(file.runs[0].other.at("time per epoch").last(), 44);
  ASSERT_FALSE(file.runs[0].warnings.empty());
  EXPECT_NE(file.runs[0].warnings[0].find("--set time_unit=s"), std::string::npos);
}

TEST(TableDoubts, SettingStatesTheUnit) {
  ImportOptions options;
  options.settings = {{"time_unit", "min"}};
  const ImportedFile file = import_text(
      "GPUs | time per epoch | total time\n1 | 44 | 440\n2 | 23 | 230\n", "log.txt", options);
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_DOUBLE_EQ(*file.runs[0].epoch_s, 44 * 60);
  EXPECT_DOUBLE_EQ(*file.runs[1].total_s, 230 * 60);
  EXPECT_TRUE(file.runs[0].other.empty());
  EXPECT_TRUE(file.runs[0].warnings.empty());
}

TEST(TableDoubts, UnitsOfCellsDecideWhatAThroughputCounts) {
  const ImportedFile file = import_text(
      "Setup | Throughput | Speedup\n1 GPU | 43,469 tok/s | 1.0x\n4 GPUs | 152,142 tok/s | 3.5x\n");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_FALSE(file.runs[0].reported_throughput);
  EXPECT_DOUBLE_EQ(file.runs[1].other.at("tokens_per_s").last(), 152142);
}

TEST(TableDoubts, ProjectionsAreNoRuns) {
  const ImportedFile file = import_text(
      "Measured\n\n| GPUs | Throughput (img/s) |\n|---|---|\n| 1 | 100 |\n| 2 | 190 |\n"
      "| 8 (proj) | 700 |\n\n"
      "More\n\n| GPUs | Projected speedup | Throughput (img/s) |\n|---|---|---|\n"
      "| 16 | 14x | 1400 |\n| 32 | 27x | 2700 |\n\n"
      "Estimated on larger clusters:\n\n| GPUs | Throughput (img/s) |\n|---|---|\n"
      "| 64 | 5000 |\n| 128 | 9000 |\n");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(*file.runs[1].workers, 2);
}

TEST(TableDoubts, TablesOfBarsMayHaveMoreTextThanNumbers) {
  const ImportedFile file = import_text(
      "| Test | Framework | Cluster | GPUs | Date | Img/sec |\n|---|---|---|---|---|---|\n"
      "| DDP | 1.11 a | alpha | 1 | 2022-05-18 | 758.9 |\n"
      "| DDP | 1.11 a | alpha | 8 | 2022-05-18 | ERROR |\n"
      "| DDP | 1.11 a | alpha | 4 | 2022-05-18 | 2836.5 |\n");
  ASSERT_EQ(file.runs.size(), 2u) << "the line without a figure ends nothing";
  EXPECT_EQ(*file.runs[1].workers, 4);
  EXPECT_DOUBLE_EQ(*file.runs[1].reported_throughput, 2836.5);
}

TEST(TableDoubts, BatchOfEachPrecisionBelongsToItsOwnFigures) {
  const ImportedFile file = import_text(
      "| GPUs | Batch size / GPU (FP32) | Batch size / GPU (FP16) | Throughput - FP32 (seq/s) | "
      "Throughput - mixed precision (seq/s) |\n|---|---|---|---|---|\n"
      "| 1 | 8 | 16 | 33.25 | 125.5 |\n| 4 | 8 | 16 | 121.75 | 458.25 |\n",
      "results.txt");
  ASSERT_EQ(file.runs.size(), 4u);
  EXPECT_EQ(*file.runs[0].batch_per_worker, 8);
  EXPECT_DOUBLE_EQ(*file.runs[0].reported_throughput, 33.25);
  EXPECT_DOUBLE_EQ(*file.runs[2].reported_throughput, 125.5);
  EXPECT_FALSE(file.runs[2].batch_per_worker) << "which of the two is not stated";
}

TEST(TableDoubts, ThroughputWithoutUnitMayCountTokens) {
  const ImportedFile file = import_text(
      "Performance numbers are in tokens per second.\n\n| GPUs | Batch per GPU | Throughput |\n"
      "|---|---|---|\n| 1 | 8 | 45755 |\n| 8 | 8 | 316913 |\n",
      "results.txt");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_FALSE(file.runs[1].reported_throughput);
  EXPECT_DOUBLE_EQ(file.runs[1].other.at("throughput").last(), 316913);
}

TEST(TableDoubts, ShareOfASplitModelIsNoBatchOfAWorker) {
  const ImportedFile file = import_text(
      "| GPUs | Global batch | TP | PP | Images/s |\n|---|---|---|---|---|\n"
      "| 8 | 128 | 1 | 1 | 100.5 |\n| 64 | 128 | 4 | 8 | 610.5 |\n");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(*file.runs[0].batch_per_worker, 16);
  EXPECT_FALSE(file.runs[1].batch_per_worker);
  EXPECT_EQ(*file.runs[1].global_batch, 128);
}

TEST(TableDoubts, NumbersOfBatchesAreNoSizes) {
  EXPECT_THROW(
      import_text("| Batch | Time (s) |\n|---|---|\n| 0 | 1.5 |\n| 1 | 0.5 |\n| 2 | 0.5 |\n"),
      Error);
}

TEST(TableDoubts, InferenceIsNoTraining) {
  EXPECT_THROW(import_text("#### Inference performance\n\n| Batch size | Images/s |\n|---|---|\n"
                           "| 1 | 100.5 |\n| 8 | 610.5 |\n"),
               Error);
  EXPECT_THROW(import_text("| Batch size | Throughput (img/s) | Latency 90% |\n|---|---|---|\n"
                           "| 1 | 100.5 | 11 ms |\n| 8 | 610.5 | 15 ms |\n"),
               Error);
}

TEST(TableDoubts, TotalEpochTimeIsOfOneEpochOrOfAll) {
  const ImportedFile file = import_text(
      "| __Processes__ | __Total epoch time (s)__ | __Time per epoch (s)__ |\n|---|---|---|\n"
      "| 2 | 410.5 | 41.25 |\n| 4 | 210.5 | 21.5 |\n");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(*file.runs[0].workers, 2);
  EXPECT_DOUBLE_EQ(*file.runs[0].epoch_s, 41.25);
}

}  // namespace
}  // namespace lockstep::import
