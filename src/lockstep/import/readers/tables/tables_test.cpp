#include <gtest/gtest.h>

#include <algorithm>

#include "lockstep/base/error.h"
#include "lockstep/import/import_fixture.h"
#include "lockstep/import/run_record.h"
#include "lockstep/import/scan/text_table.h"

namespace lockstep::import {
namespace {

bool table_warns(const ImportedRun& run, std::string_view words) {
  return std::any_of(run.warnings.begin(), run.warnings.end(), [&](const std::string& warning) {
    return warning.find(words) != std::string::npos;
  });
}

double value_in_rows(const ImportedRun& run, const std::string& metric) {
  for (const record::Measurement& row : measurements(run)) {
    if (row.metric == metric) return row.value;
  }
  return -1;
}

TEST(Tables, EachLineIsARunAndWhatWasDerivedIsReported) {
  const ImportedFile file = import_fixture("tables.md");
  EXPECT_EQ(file.format, "markdown");
  ASSERT_EQ(file.runs.size(), 4u);
  const ImportedRun& two = file.runs[1];
  EXPECT_EQ(*two.workers, 2);
  EXPECT_EQ(*two.batch_per_worker, 32);
  EXPECT_DOUBLE_EQ(*two.epoch_s, 24.39);
  EXPECT_DOUBLE_EQ(*two.reported_throughput, 2050);
  EXPECT_DOUBLE_EQ(value_in_rows(two, "reported_speedup"), 1.84);
  EXPECT_DOUBLE_EQ(value_in_rows(two, "reported_efficiency"), 0.92);
  EXPECT_TRUE(file.runs[3].out_of_memory);
  EXPECT_FALSE(file.runs[3].epoch_s);
}

TEST(Tables, ATimeOfSomethingIsKeptByItsNameAndNotCompared) {
  const ImportedFile file = import_fixture("tables_blanks.txt");
  EXPECT_EQ(file.format, "tables");
  ASSERT_EQ(file.runs.size(), 3u);
  EXPECT_EQ(*file.runs[2].workers, 4);
  EXPECT_FALSE(file.runs[2].epoch_s);
  EXPECT_FALSE(file.runs[2].total_s);
  EXPECT_FALSE(file.runs[2].batch_per_worker) << "64 of one worker or of all?";
  EXPECT_DOUBLE_EQ(value_in_rows(file.runs[2], "time"), 34.9);
  EXPECT_TRUE(table_warns(file.runs[2], "\"epoch time\" or \"total time\""));
}

TEST(Tables, BarsBlanksTabsAndCommasCutThemAlike) {
  for (const std::string cut : {" | ", "   ", "\t", ","}) {
    std::string text;
    const std::vector<std::vector<std::string>> lines{
        {"GPUs", "global batch", "time per epoch (ms)", "speed-up"},
        {"1", "64", "12500", "1.0"},
        {"2", "128", "6900", "1.81"}};
    for (const auto& line : lines) {
      for (std::size_t i = 0; i < line.size(); ++i) text += (i == 0 ? "" : cut) + line[i];
      text += "\n";
    }
    const ImportedFile file = import_text(text);
    ASSERT_EQ(file.runs.size(), 2u) << text;
    EXPECT_EQ(*file.runs[1].workers, 2) << text;
    EXPECT_EQ(*file.runs[1].global_batch, 128) << text;
    EXPECT_DOUBLE_EQ(*file.runs[1].epoch_s, 6.9) << text;
    EXPECT_DOUBLE_EQ(file.runs[1].reported.at("reported_speedup"), 1.81) << text;
  }
}

TEST(Tables, TwoColumnsOfOneMeaningAreNotChosenBetween) {
  EXPECT_THROW(import_text("GPUs | epoch time (s) | time per epoch (s)\n"
                           "1 | 10.1 | 20.1\n2 | 5.2 | 10.4\n"),
               Error);
}

TEST(Tables, SeveralTablesAreToldApartByTheLineAbove) {
  const ImportedFile file = import_text(
      "### V100\n\n| Setup | Epoch time |\n|---|---|\n| 1 GPU | 2m 3s |\n| 2 GPUs | 1m 5s |\n\n"
      "### A100\n\n| Setup | Epoch time |\n|---|---|\n| 1 GPU | 61 s |\n| 2 GPUs | 0:32 |\n");
  ASSERT_EQ(file.runs.size(), 4u);
  EXPECT_EQ(*file.runs[1].workers, 2);
  EXPECT_DOUBLE_EQ(*file.runs[0].epoch_s, 123);
  EXPECT_DOUBLE_EQ(*file.runs[3].epoch_s, 32);
  EXPECT_NE(*file.runs[0].model, *file.runs[2].model) << "never averaged";
}

TEST(Tables, DevicesWithTheirNumberAreWorkers) {
  const ImportedFile file = import_text(
      "| Network | Hardware | images/s | Memory |\n|---|---|---|---|\n"
      "| small | 1x A100 40GB | 400 | 12 GB |\n| small | 8 x A100 40GB | 3000 | 12 GB |\n",
      "notes.md");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(*file.runs[1].workers, 8);
  EXPECT_DOUBLE_EQ(*file.runs[1].reported_throughput, 3000);
  EXPECT_THROW(import_text("| Network | Size | images/s |\n|---|---|---|\n| a | 3x224 | 400 |\n"
                           "| b | 3x320 | 300 |\n",
                           "notes.md"),
               Error);
}

TEST(Tables, CountsBesideEachOtherAreRuns) {
  const ImportedFile file = import_text(
      "Time per epoch\n\n| Network | 1 GPU | 4 GPUs | Speedup |\n|---|---|---|---|\n"
      "| small | 19.5 s | 42.25 s | 0.46x |\n| large | 100 s | 125 s | 0.8x |\n",
      "notes.md");
  ASSERT_EQ(file.runs.size(), 4u);
  EXPECT_EQ(*file.runs[1].workers, 4);
  EXPECT_DOUBLE_EQ(*file.runs[1].epoch_s, 42.25);
  EXPECT_EQ(*file.runs[0].model, *file.runs[1].model);
  EXPECT_NE(*file.runs[1].model, *file.runs[3].model);
  const ImportedFile rates = import_text(
      "| Network | 1 GPU | 2 GPUs |\n|---|---|---|\n| a | 100 img/s | 190 img/s |\n", "b.md");
  ASSERT_EQ(rates.runs.size(), 2u);
  EXPECT_DOUBLE_EQ(*rates.runs[1].reported_throughput, 190);
  const ImportedFile open =
      import_text("| Network | 1 GPU | 2 GPUs |\n|---|---|---|\n| a | 10 s | 6 s |\n", "b.md");
  EXPECT_FALSE(open.runs.at(1).epoch_s) << "of an epoch or of the run?";
  EXPECT_THROW(import_text("| Network | 1 GPU | 2 GPUs |\n|---|---|---|\n| a | 10 | 6 |\n", "b.md"),
               Error)
      << "of what?";
}

TEST(Tables, LinesOfEpochsAreOneRun) {
  const ImportedFile file = import_fixture("tables_fastai.txt");
  ASSERT_EQ(file.runs.size(), 1u);
  ASSERT_EQ(file.runs[0].epochs.size(), 3u);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[2].train_s, 62);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[2].train_loss, 0.702374);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[2].val_loss, 0.551226);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[2].val_accuracy, 0.821);
}

TEST(Tables, TableWithItsNamesInTheFirstColumnIsTurned) {
  const ImportedFile file = import_fixture("tables_turned.md");
  EXPECT_EQ(file.format, "markdown");
  ASSERT_EQ(file.runs.size(), 3u);
  EXPECT_EQ(*file.runs[2].workers, 4);
  EXPECT_DOUBLE_EQ(*file.runs[2].epoch_s, 11.75);
  EXPECT_DOUBLE_EQ(*file.runs[1].reported_throughput, 2350.5);
  EXPECT_DOUBLE_EQ(value_in_rows(file.runs[1], "reported_speedup"), 1.875);
  const ImportedFile commas = import_text("GPUs,1,2\nTime per epoch (s),40.5,21.25\n", "x.csv");
  ASSERT_EQ(commas.runs.size(), 2u);
  EXPECT_DOUBLE_EQ(*commas.runs[1].epoch_s, 21.25);
}

TEST(Tables, OneColumnOfTimesPerNetworkGivesRunsOfEach) {
  const ImportedFile file = import_text(
      "| GPUs | ResNet18 epoch time (s) | ResNet50 epoch time (s) | Speedup |\n|---|---|---|---|\n"
      "| 1 | 40.5 | 98.5 | 1 |\n| 2 | 21.25 | OOM | 1.9 |\n");
  ASSERT_EQ(file.runs.size(), 4u);
  EXPECT_DOUBLE_EQ(*file.runs[1].epoch_s, 21.25);
  EXPECT_EQ(file.runs[1].notes.at("setting"), "ResNet18");
  EXPECT_DOUBLE_EQ(*file.runs[2].epoch_s, 98.5);
  EXPECT_EQ(file.runs[2].notes.at("setting"), "ResNet50");
  EXPECT_TRUE(file.runs[3].out_of_memory);
  EXPECT_TRUE(file.runs[1].reported.empty()) << "the speedup of which?";
  EXPECT_THROW(import_text("| GPUs | mean epoch time (s) | median epoch time (s) |\n|---|---|---|\n"
                           "| 1 | 40.5 | 41.5 |\n| 2 | 21.25 | 21.5 |\n"),
               Error)
      << "two figures of one run";
}

TEST(Tables, NumbersOfDevicesAndNamesOfNodesAreNoCounts) {
  const ImportedFile file = import_text(
      "gpus\tgpu_count\tbatch_size\tsamples/sec\n0\t1\t64\t950.5\n4\t1\t64\t960.5\n"
      "0,1\t2\t64\t1750.5\n",
      "x.csv");
  ASSERT_EQ(file.runs.size(), 3u);
  EXPECT_EQ(*file.runs[1].workers, 1);
  EXPECT_EQ(*file.runs[2].workers, 2);
  EXPECT_DOUBLE_EQ(*file.runs[2].reported_throughput, 1750.5);
  const ImportedFile named = import_text(
      "Configuration,Mean epoch time (s),Throughput (samples/s)\n"
      "news_1 GPU,19.5 ± 0.5,6140\nnews_4 GPUs,42.25 ± 0.5,2830\n");
  ASSERT_EQ(named.runs.size(), 2u);
  EXPECT_EQ(*named.runs[1].workers, 4);
  EXPECT_DOUBLE_EQ(*named.runs[1].epoch_s, 42.25);
}

TEST(Tables, GpusBesideNodesAreOfEachNodeWhereThereAreFewer) {
  const std::string head =
      "| #Nodes | #GPUs | Epoch | Runtime | Node(s) |\n|---|---|---|---|---|\n";
  const ImportedFile each = import_text(head +
                                        "| 1 | 2 | 10 | 1:14:46 | n3 |\n"
                                        "| 2 | 1 | 10 | 1:25:00 | n[2,5] |\n");
  ASSERT_EQ(each.runs.size(), 2u);
  EXPECT_EQ(*each.runs[0].workers, 2);
  EXPECT_EQ(*each.runs[1].workers, 2);
  EXPECT_EQ(*each.runs[1].epochs_planned, 10);
  EXPECT_DOUBLE_EQ(*each.runs[1].total_s, 5100);
  const ImportedFile either = import_text(head +
                                          "| 1 | 4 | 10 | 1:14:46 | n3 |\n"
                                          "| 2 | 4 | 10 | 0:45:00 | n[2,5] |\n");
  EXPECT_EQ(*either.runs.at(0).workers, 4);
  EXPECT_FALSE(either.runs.at(1).workers) << "4 on two nodes, or on each of them?";
  EXPECT_TRUE(table_warns(either.runs.at(1), "--set workers=N"));
}

TEST(Tables, LinesThatBeginWithACountAreRuns) {
  const ImportedFile file = import_text(
      "Training speed:\n1 GPU: 44.5 s/epoch\n2 GPUs: 23.1 s/epoch (1040.5 img/s)\n"
      "4 GPUs: 12.9 s/epoch\n");
  ASSERT_EQ(file.runs.size(), 3u);
  EXPECT_EQ(*file.runs[1].workers, 2);
  EXPECT_DOUBLE_EQ(*file.runs[1].epoch_s, 23.1);
  EXPECT_DOUBLE_EQ(*file.runs[1].reported_throughput, 1040.5);
  EXPECT_THROW(import_text("2 GPUs: 11.5 s\n4 GPUs: 6.5 s\n"), Error) << "seconds of what?";
  const ImportedFile named = import_text("1 GPU - Epoch time: 40.5s\n2 GPUs - Epoch time: 21.5s\n");
  ASSERT_EQ(named.runs.size(), 2u);
  EXPECT_DOUBLE_EQ(*named.runs[1].epoch_s, 21.5);
}

TEST(Tables, CellsAreNumbersOnlyWhereNothingElseIsLeft) {
  EXPECT_DOUBLE_EQ(cell_number("**1,024**")->value, 1024);
  EXPECT_DOUBLE_EQ(cell_number("12.5 ± 0.3")->value, 12.5);
  EXPECT_EQ(cell_number("1.85x")->unit, "x");
  EXPECT_DOUBLE_EQ(cell_number("1:23.5")->value, 83.5);
  EXPECT_FALSE(cell_number("2x4"));
  EXPECT_FALSE(cell_number("12,3"));
  EXPECT_FALSE(cell_number("V100"));
}

TEST(NamedFigures, LossesOfOneNetworkReachTheTable) {
  const ImportedFile file = import_fixture("examples_per_second_headings.txt");
  EXPECT_GT(value_in_rows(file.runs[0], "loss_D"), 0);
  EXPECT_GT(value_in_rows(file.runs[0], "loss_G"), 0);
  EXPECT_EQ(value_in_rows(file.runs[2], "last_epoch_throughput"), -1) << "no rate of the run";
}

TEST(NamedFigures, RatesOfTokensAreMediansAndOtherRatesAreNotRows) {
  ImportedRun run;
  for (const double rate : {100.0, 2000.0, 2010.0}) run.other["tokens_per_s"].add(0, rate);
  run.other["steps_per_s"].add(0, 3);
  EXPECT_DOUBLE_EQ(value_in_rows(run, "tokens_per_s"), 2000);
  EXPECT_EQ(value_in_rows(run, "steps_per_s"), -1) << "a report would compare it";
}

TEST(Tables, OneFigureUnderTwoNamesIsRead) {
  const ImportedFile file =
      import_text("num_gpus,throughput,images_per_second\n1,1150.5,1150.5\n2,2250.25,2250.25\n");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_DOUBLE_EQ(*file.runs[1].reported_throughput, 2250.25);
}

TEST(Tables, LinesWithoutAnyFigureAreNoRuns) {
  const ImportedFile file = import_fixture("tables_empty_rows.md");
  ASSERT_EQ(file.runs.size(), 3u);
  EXPECT_EQ(*file.runs[2].workers, 2);
  EXPECT_EQ(*file.runs[2].batch_per_worker, 16);
  EXPECT_DOUBLE_EQ(*file.runs[2].epoch_s, 27.5);
  EXPECT_DOUBLE_EQ(*file.runs[2].reported_throughput, 296.5);
}

TEST(Results, OfSeveralRunsInAnArrayOfJsonAreNoHistoryOfOne) {
  const ImportedFile file = import_fixture("results.json");
  EXPECT_EQ(file.format, "result-json");
  ASSERT_EQ(file.runs.size(), 3u);
  EXPECT_EQ(*file.runs[1].workers, 2);
  EXPECT_EQ(*file.runs[1].batch_per_worker, 64);
  EXPECT_DOUBLE_EQ(*file.runs[1].epoch_s, 22.25);
  EXPECT_DOUBLE_EQ(*file.runs[2].reported_throughput, 1941.75);
  EXPECT_EQ(file.runs[2].notes.at("strategy"), "fsdp");
}

TEST(Results, OfSeveralRunsMayStandOnLinesOfJson) {
  const ImportedFile file = import_fixture("results.jsonl");
  EXPECT_EQ(file.format, "result-json");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(*file.runs[1].workers, 4);
  EXPECT_EQ(*file.runs[1].batch_per_worker, 8);
  EXPECT_DOUBLE_EQ(file.runs[1].step_time.last(), 0.13125);
}

TEST(Results, StepOfAccumulatedGradientsMayBeASmallOne) {
  const ImportedRun run = import_text(
                              "{\"world_size\": 2, \"per_device_batch\": 1, \"grad_accum\": 4,\n"
                              "\"mean_step_time_sec\": 0.5, \"tokens_per_sec\": 8192.5}\n")
                              .runs.at(0);
  EXPECT_DOUBLE_EQ(run.step_time.last(), 0.5);
  EXPECT_EQ(*run.global_batch, 8);
  EXPECT_TRUE(run.throughput.empty()) << "of 2 examples or of 8?";
}

TEST(Results, MayStandInAListOfOneObject) {
  const ImportedFile file = import_text(
      "{\"date\": \"2025-01-15\", \"hardware\": {\"gpu_model\": \"V100\"}, \"results\": [\n"
      "{\"num_gpus\": 1, \"throughput\": 1150.5, \"time_per_iteration_ms\": 27.75},\n"
      "{\"num_gpus\": 2, \"throughput\": 2250.25, \"time_per_iteration_ms\": 28.5}]}\n");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(*file.runs[1].workers, 2);
  EXPECT_DOUBLE_EQ(*file.runs[1].reported_throughput, 2250.25);
  EXPECT_DOUBLE_EQ(file.runs[1].step_time.last(), 0.0285);
}

TEST(Results, ThatAreEpochsInAnArrayAreOneRun) {
  const ImportedFile file = import_text(
      "[{\"epoch\": 1, \"loss\": 0.75, \"val_loss\": 0.875},\n"
      " {\"epoch\": 2, \"loss\": 0.5, \"val_loss\": 0.625}]\n");
  ASSERT_EQ(file.runs.size(), 1u);
  ASSERT_EQ(file.runs[0].epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[1].val_loss, 0.625);
}

TEST(Results, OfOneRunNameTheirMeanStepTimeInManyWays) {
  for (const char* name : {"step_time_s", "mean_step_time_sec", "avg_iter_time"}) {
    const ImportedRun run = import_text("{\"world_size\": 2, \"per_device_batch\": 4, \"" +
                                        std::string(name) + "\": 0.25, \"tokens_per_sec\": 12.5}\n")
                                .runs.at(0);
    EXPECT_DOUBLE_EQ(run.step_time.last(), 0.25) << name;
    EXPECT_EQ(*run.batch_per_worker, 4) << name;
  }
}

TEST(Histories, RowsWithAnotherWorkerCountAreOfAnotherRun) {
  const ImportedFile file = import_text(
      "{\"num_gpus\": 1, \"batch_size\": 32, \"epoch\": 1, \"loss\": 0.75}\n"
      "{\"num_gpus\": 1, \"batch_size\": 32, \"epoch\": 2, \"loss\": 0.5}\n"
      "{\"num_gpus\": 2, \"batch_size\": 32, \"epoch\": 1, \"loss\": 0.875}\n"
      "{\"num_gpus\": 2, \"batch_size\": 64, \"epoch\": 1, \"loss\": 0.9375}\n");
  EXPECT_EQ(file.format, "history-jsonl");
  ASSERT_EQ(file.runs.size(), 3u);
  EXPECT_EQ(*file.runs[1].workers, 2);
  EXPECT_EQ(file.runs[0].epochs.size(), 2u);
  const ImportedFile grows = import_text(
      "{\"batch_size\": 32, \"epoch\": 1, \"loss\": 0.75}\n"
      "{\"batch_size\": 64, \"epoch\": 2, \"loss\": 0.5}\n");
  EXPECT_EQ(grows.runs.size(), 1u) << "a batch may change while the epochs go on";
}

TEST(Histories, CurveOfTensorBoardIsNamedByItsFile) {
  const ImportedFile file = import_text(
      "Wall time,Step,Value\n1700000000.25,1,0.875\n1700000031.5,2,0.625\n1700000062.75,3,0.5\n",
      "run-vit_gpux4-tag-Loss_val.csv");
  ASSERT_EQ(file.runs.size(), 1u);
  const ImportedRun& run = file.runs[0];
  EXPECT_EQ(*run.workers, 4);
  ASSERT_TRUE(run.at_end);
  EXPECT_DOUBLE_EQ(run.at_end->val_loss, 0.5);
  EXPECT_FALSE(run.other.contains("Wall time")) << "times of day are no figures";
  EXPECT_FALSE(run.other.contains("Value"));
}

}  // namespace
}  // namespace lockstep::import
