#include <gtest/gtest.h>

#include <algorithm>

#include "lockstep/base/error.h"
#include "lockstep/import/import_fixture.h"
#include "lockstep/import/run_record.h"

namespace lockstep::import {
namespace {

double summary_row(const ImportedRun& run, const std::string& metric) {
  for (const record::Measurement& row : measurements(run)) {
    if (row.metric == metric) return row.value;
  }
  return -1;
}

TEST(TrainerSummary, GivesTheLossWhereNoLineHasOne) {
  for (const std::string quote : {"", "'"}) {
    const auto number = [&](const std::string& text) { return quote + text + quote; };
    const std::string summary =
        "{'train_runtime': " + number("4.75") + ", 'train_samples_per_second': " + number("202.5") +
        ", 'train_steps_per_second': " + number("25.25") + ", 'train_loss': " + number("1.383") +
        ", 'epoch': " + number("2") + "}\n";
    const ImportedRun run = import_text(summary).runs.at(0);
    EXPECT_DOUBLE_EQ(run.at_end->train_loss, 1.383);
    EXPECT_DOUBLE_EQ(*run.total_s, 4.75);
    EXPECT_DOUBLE_EQ(summary_row(run, "train_loss"), 1.383);
    const ImportedRun lines =
        import_text("{'loss': " + number("0.9") + ", 'epoch': " + number("2") + "}\n" + summary)
            .runs.at(0);
    EXPECT_DOUBLE_EQ(lines.epochs.at(0).train_loss, 0.9)
        << "the mean of the run is not that of the end";
  }
}

TEST(TrainerSummary, IsReadAsTheExampleScriptsPrintIt) {
  const ImportedRun run = import_fixture("trainer_summary.log").runs.at(0);
  EXPECT_EQ(*run.workers, 4);
  EXPECT_DOUBLE_EQ(*run.total_s, 4.73);
  EXPECT_DOUBLE_EQ(summary_row(run, "train_loss"), 1.383);
  EXPECT_DOUBLE_EQ(run.epochs.at(0).val_accuracy, 0.8123);
}

TEST(TrainerSummary, ProcessesThatNameTheirRankAreTheWorkers) {
  const auto process = [](int rank, bool several) {
    return "10/20/2025 06:39:50 - WARNING - __main__ - Process rank: " + std::to_string(rank) +
           ", device: cuda:" + std::to_string(rank) +
           ", n_gpu: 1, distributed training: " + (several ? "True" : "False") +
           ", 16-bits training: False\n";
  };
  const std::string result =
      "{'train_runtime': 4.75, 'train_samples_per_second': 202.5, 'train_steps_per_second': 25.25, "
      "'train_loss': 1.383, 'epoch': 2.0}\n";
  const auto workers = [&](const std::string& lines) {
    return import_text(lines + result).runs.at(0).workers.value.value_or(0);
  };
  EXPECT_EQ(workers(process(0, false)), 1);
  EXPECT_EQ(workers(process(1, true) + process(0, true) + process(1, true)), 2);
  EXPECT_EQ(workers(process(0, true)), 0) << "the others wrote into files of their own";
  EXPECT_EQ(workers(process(0, true) + process(2, true)), 0) << "one is missing";
}

TEST(ScriptSummary, GivesTheFiguresOfRunsWithoutEpochsAndSteps) {
  const ImportedFile file = import_fixture("transcript_summary.log");
  EXPECT_EQ(file.format, "transcript");
  ASSERT_EQ(file.runs.size(), 3u);
  const double rates[] = {1551.5, 2925.75, 5389.5};
  for (std::size_t i = 0; i < 3; ++i) {
    const ImportedRun& run = file.runs[i];
    EXPECT_EQ(*run.workers, 1 << i);
    EXPECT_EQ(*run.batch_per_worker, 64);
    EXPECT_DOUBLE_EQ(run.throughput.last(), rates[i]);
  }
  EXPECT_DOUBLE_EQ(file.runs[1].step_time.last(), 0.04375);
  EXPECT_DOUBLE_EQ(*file.runs[2].total_s, 750);
  EXPECT_FALSE(file.runs[0].total_s);
  const ImportedFile lines = import_text(
      "GPUs: 1 | throughput: 312.5 samples/sec\nGPUs: 2 | throughput: 601.25 samples/sec\n");
  ASSERT_EQ(lines.runs.size(), 2u);
  EXPECT_EQ(*lines.runs[1].workers, 2);
  EXPECT_DOUBLE_EQ(lines.runs[1].throughput.last(), 601.25);
}

TEST(ScriptSummary, HeadingBetweenRulesMayCountTheWorkers) {
  const std::string rule = std::string(30, '=') + "\n";
  const auto section = [&](const char* heading, const char* rate) {
    return rule + heading + "\n" + rule +
           "Dataset: news (train size: 120000)\nMean epoch time: " + rate +
           "9.5 ± 0.5 s\nThroughput: 6" + rate + "43 samples/sec\nSpeedup: 1.00x\n";
  };
  const ImportedFile file = import_text("REPORT\n" + section("Configuration: news_1 GPU", "1") +
                                        section("Configuration: news_4 GPUs", "4"));
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(*file.runs[0].workers, 1);
  EXPECT_DOUBLE_EQ(*file.runs[0].epoch_s, 19.5);
  EXPECT_EQ(*file.runs[1].workers, 4);
  EXPECT_DOUBLE_EQ(file.runs[1].throughput.last(), 6443);
}

TEST(ScriptSummary, TakesNothingThatMayBeOfSomethingElse) {
  const std::string where = "World size: 4\n";
  const ImportedRun twice = import_text(where +
                                        "Throughput: 500.5 images/sec\n"
                                        "Throughput: 750.5 images/sec\n"
                                        "Total training time: 104.5 s\n")
                                .runs.at(0);
  EXPECT_TRUE(twice.throughput.empty()) << "of two, which?";
  EXPECT_DOUBLE_EQ(*twice.total_s, 104.5);
  ASSERT_EQ(twice.warnings.size(), 1u);
  EXPECT_NE(twice.warnings[0].find("500.5"), std::string::npos);
  const ImportedRun before = import_text(where +
                                         "Throughput: 500.5 images/sec\n"
                                         "Epoch 1: loss 0.5, time: 20.5 s\n")
                                 .runs.at(0);
  EXPECT_TRUE(before.throughput.empty()) << "measured before the training";
  EXPECT_THROW(import_text(where + "Total time: 104.5 s\n"), Error);
  EXPECT_THROW(import_text("Throughput: 500.5 images/sec\n"), Error) << "on how many?";
}

TEST(ScriptSummary, MeanEpochTimeMayHaveItsSpreadBehindIt) {
  for (const char* spread : {"±", "+/-", "+-"}) {
    const ImportedRun run = import_text(std::string("Using 2 GPUs\nMean epoch time: 19.5 ") +
                                        spread + " 0.625 s\nThroughput: 6143.5 samples/sec\n")
                                .runs.at(0);
    EXPECT_DOUBLE_EQ(*run.epoch_s, 19.5) << spread;
  }
}

TEST(ScriptSummary, SyntheticBenchmarksBelowEachOtherAreSeveralRuns) {
  const ImportedFile file = import_text(
      "Iter #0: 105.5 img/sec per GPU\nTotal img/sec on 2 GPU(s): 210.5 +-2.5\n"
      "Iter #0: 101.5 img/sec per GPU\nTotal img/sec on 4 GPU(s): 405.5 +-2.5\n"
      "Total img/sec on 8 GPU(s): 790.5 +-2.5\n");
  ASSERT_EQ(file.runs.size(), 3u);
  EXPECT_EQ(*file.runs[0].workers, 2);
  EXPECT_DOUBLE_EQ(*file.runs[0].reported_throughput, 210.5);
  EXPECT_DOUBLE_EQ(*file.runs[1].reported_throughput, 405.5);
  EXPECT_EQ(*file.runs[2].workers, 8);
}

}  // namespace
}  // namespace lockstep::import
