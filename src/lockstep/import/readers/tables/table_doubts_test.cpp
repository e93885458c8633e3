#include <gtest/gtest.h>

#include "lockstep/base/error.h"
#include "lockstep/import/import_fixture.h"
#include "lockstep/import/run_record.h"

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

TEST(TableDoubts, RateOfOneGpuIsNotThatOfAll) {
  const ImportedFile tokens = import_text(
      "| Setup | GPUs | Per-GPU Throughput |\n|---|---|---|\n| one node | 8 | 40,100 tokens/s |\n"
      "| two nodes | 16 | 8,300 tokens/s |\n");
  ASSERT_EQ(tokens.runs.size(), 2u);
  EXPECT_FALSE(tokens.runs[1].other.contains("tokens_per_s"));
  const ImportedFile images = import_text(
      "GPUs | batch per GPU | per-GPU throughput (img/s)\n1 | 32 | 400\n4 | 32 | 390\n");
  ASSERT_EQ(images.runs.size(), 2u);
  EXPECT_DOUBLE_EQ(images.runs[1].throughput.last(), 4 * 390);
}

TEST(TableDoubts, TokensOfAllWorkersHaveOneName) {
  const ImportedFile file =
      import_text("GPUs | batch per GPU | Tokens/s\n1 | 8 | 45,000\n2 | 8 | 45.2 k\n");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_DOUBLE_EQ(file.runs[0].other.at("tokens_per_s").last(), 45000);
  EXPECT_FALSE(file.runs[1].other.contains("tokens_per_s")) << "45.2 thousand";
  const ImportedFile two = import_text(
      "GPUs | batch per GPU | tokens/s before | tokens/s after\n1 | 8 | 40 | 50\n2 | 8 | 70 | "
      "90\n");
  ASSERT_EQ(two.runs.size(), 2u);
  EXPECT_FALSE(two.runs[0].other.contains("tokens_per_s"));
}

TEST(TableDoubts, AimsWereNotMeasured) {
  EXPECT_THROW(import_text("| Model | GPUs | Target tokens/sec |\n|---|---|---|\n"
                           "| small | 4 | 12,000 |\n| large | 32 | 8,000 |\n"),
               Error);
  const ImportedFile file = import_text(
      "| GPUs | Expected throughput (img/s) | Throughput (img/s) |\n|---|---|---|\n"
      "| 1 | 110 | 100 |\n| 2 | 220 | 190 |\n");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_DOUBLE_EQ(*file.runs[1].reported_throughput, 190);
}

TEST(TableDoubts, BatchOfAllOrOfOneIsDecidedForEveryLine) {
  const std::string table =
      "GPUs | batch size | time per epoch (s)\n1 | 32 | 44\n2 | 32 | 24\n2 | 64 | 20\n";
  const ImportedFile open = import_text(table);
  ASSERT_EQ(open.runs.size(), 3u);
  EXPECT_FALSE(open.runs[1].batch_per_worker);
  EXPECT_EQ(*open.runs[0].model, *open.runs[2].model);
  EXPECT_EQ(measurements(open.runs[1]).front().stated_batch, 32);
  EXPECT_EQ(measurements(open.runs[2]).front().stated_batch, 64)
      << "of two batches, never averaged";
  ASSERT_FALSE(open.runs[1].warnings.empty());
  EXPECT_NE(open.runs[1].warnings[0].find("--set batch_of=worker"), std::string::npos);

  ImportOptions options;
  options.settings = {{"batch_of", "all"}};
  const ImportedFile whole = import_text(table, "log.txt", options);
  EXPECT_EQ(*whole.runs[1].global_batch, 32);
  EXPECT_EQ(*whole.runs[2].global_batch, 64);
  EXPECT_EQ(*whole.runs[2].batch_per_worker, 32);
  options.settings = {{"batch_of", "worker"}};
  EXPECT_EQ(*import_text(table, "log.txt", options).runs[2].global_batch, 128);
  options.settings = {{"batch_of", "both"}};
  EXPECT_THROW(import_text(table, "log.txt", options), Error);
}

TEST(TableDoubts, InferenceOfAPreTrainedNetworkIsNoTraining) {
  const std::string table = "\n\n| GPUs | Throughput (sequences/s) |\n|---|---|\n| 1 | 30 |\n";
  EXPECT_THROW(import_text("### Pre-training inference on one node" + table, "a.md"), Error);
  EXPECT_EQ(import_text("### Training, then inference" + table, "a.md").runs.size(), 1u);
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

TEST(TableDoubts, NamesLeftBlankAreThoseOfTheLineAbove) {
  const ImportedFile file = import_text(
      "| Model | GPUs | Tokens/Second |\n|---|---|---|\n| small | 1 | 104.5 |\n| | 2 | 168.25 |\n"
      "| large | 2 | 21.5 |\n| | 4 | 38.25 |\n");
  ASSERT_EQ(file.runs.size(), 4u);
  EXPECT_EQ(*file.runs[1].model, "small");
  EXPECT_EQ(*file.runs[3].model, "large");
  EXPECT_EQ(*file.runs[3].workers, 4);
  const ImportedFile objects = import_text(
      "[{\"world_size\": 2, \"dataset\": \"cifar\", \"epoch_time\": 8.5},"
      "{\"world_size\": 4, \"epoch_time\": 5.5}]\n",
      "results.json");
  ASSERT_EQ(objects.runs.size(), 2u);
  EXPECT_FALSE(objects.runs[1].dataset) << "a key that is missing is unknown";
}

TEST(TableDoubts, ExpectationsInAHeadingWereNotMeasured) {
  const std::string table =
      "The jobs wait for GPUs.\n\n| GPUs | Time per epoch (s) | Speedup |\n|---|---|---|\n"
      "| 1 | 40.5 | 1.0x |\n| 2 | 21.5 | 1.88x |\n";
  try {
    import_text("## Performance Expectations\n\n" + table, "STATUS.md");
    ADD_FAILURE() << "read as measurements";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("\"performance expectations\""), std::string::npos);
  }
  EXPECT_THROW(import_text("### Expected Performance\n\n" + table, "STATUS.md"), Error);
  EXPECT_EQ(import_text("## Performance\n\n" + table, "STATUS.md").runs.size(), 2u);
}

TEST(TableDoubts, LatenciesAreOfInference) {
  EXPECT_THROW(
      import_text("| Model | Batch size | Throughput (samples/sec) | Latency (ms) |\n"
                  "|---|---|---|---|\n| mlp | 1 | 1247 | 0.8 |\n| mlp | 32 | 18734 | 1.7 |\n",
                  "README.md"),
      Error);
}

TEST(TableDoubts, BenchmarksOfTheLinkAreNoTraining) {
  EXPECT_THROW(import_text("[{\"world_size\": 8, \"message_size_mb\": 1, \"time_ms\": 0.8049},"
                           "{\"world_size\": 8, \"message_size_mb\": 10, \"time_ms\": 6.3673}]\n",
                           "alltoall.json"),
               Error);
}

TEST(TableDoubts, MeasuredValuesTellNoRunsApart) {
  for (const char* name : {"held_mb", "memory usage"}) {
    const ImportedFile file = import_text(std::string("gpus,epoch_time_s,") + name +
                                          "\n2,12.5,459.17\n2,12.25,458.91\n4,7.5,301.44\n");
    ASSERT_EQ(file.runs.size(), 3u);
    EXPECT_EQ(file.runs[0].model.value, file.runs[1].model.value);
  }
}

TEST(TableDoubts, NumbersOfGpusAreNoSettingBesideTheirCount) {
  const ImportedFile file = import_text(
      "gpus\tgpu_count\tsamples/sec\n0\t1\t950.5\n1\t1\t956.5\n0,1\t2\t1718.5\n"
      "0,1,2\t3\t2182.5\n");
  ASSERT_EQ(file.runs.size(), 4u);
  EXPECT_EQ(*file.runs[2].workers, 2);
  EXPECT_EQ(file.runs[0].model.value, file.runs[2].model.value);
}

TEST(TableDoubts, AccumulatedStepsBelongToTheGlobalBatch) {
  const ImportedFile file = import_text(
      "world_size,per_device_batch,grad_accum,mean_step_time_sec\n2,1,4,0.5\n4,1,4,0.625\n");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(*file.runs[0].global_batch, 8);
  EXPECT_TRUE(file.runs[0].throughput.empty()) << "of a step that may be one of four";
}

TEST(TableDoubts, BoldTypeIsNoPartOfANameOrAValue) {
  const ImportedFile file = import_text(
      "| Strategy | GPUs | Step time (s) |\n|---|---|---|\n| **DDP** | 2 | 0.5 |\n"
      "| **DDP** | **4** | **0.625** |\n| **FSDP** | 4 | 0.75 |\n");
  ASSERT_EQ(file.runs.size(), 3u);
  EXPECT_EQ(*file.runs[1].workers, 4);
  for (const ImportedRun& run : file.runs) EXPECT_EQ((*run.model).find('*'), std::string::npos);
}

TEST(Speedups, OfAPrecisionAreNoneOfMoreWorkers) {
  const ImportedFile file = import_text(
      "| GPUs | Throughput (img/s) | Throughput speedup (TF32 to mixed precision) "
      "|\n|---|---|---|\n"
      "| 1 | 2489 | 2.3 x |\n| 8 | 16652 | 2.03 x |\n",
      "numbers.md");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_TRUE(file.runs[1].reported.empty());
}

}  // namespace
}  // namespace lockstep::import
