#include <gtest/gtest.h>

#include <set>
#include <string>

#include "lockstep/import/import_fixture.h"
#include "lockstep/import/tell_apart.h"

namespace lockstep::import {
namespace {

std::set<std::string> networks_of(const ImportedFile& file) {
  std::set<std::string> names;
  for (const ImportedRun& run : file.runs) names.insert(*run.model);
  return names;
}

TEST(TellApart, RunOnOneWorkerJoinsTheSeriesOfItsVariant) {
  const ImportedFile file = import_text(
      "GPUs | batch per GPU | optimizer | time per epoch (s)\n1 | 32 | sgd | 40\n"
      "2 | 32 | sgd | 21\n2 | 32 | adam | 23\n",
      "sweep.txt");
  ASSERT_EQ(file.runs.size(), 3u);
  EXPECT_EQ(*file.runs[0].model, "sweep (sgd)");
  EXPECT_EQ(*file.runs[1].model, "sweep (sgd)");
  EXPECT_EQ(*file.runs[2].model, "sweep (adam)");
}

TEST(TellApart, TableKeepsOneNameWhereAnotherTableSharesAWorkerCount) {
  const ImportedFile file = import_text(
      "### Images\n\n| GPUs | Throughput (img/s) |\n|---|---|\n| 1 | 100 |\n| 2 | 190 |\n"
      "| 4 | 350 |\n\n### Text\n\n| GPUs | Throughput (samples/s) |\n|---|---|\n| 4 | 30 |\n"
      "| 8 | 50 |\n",
      "notes.md");
  ASSERT_EQ(file.runs.size(), 5u);
  EXPECT_EQ(*file.runs[0].model, *file.runs[2].model);
  EXPECT_EQ(*file.runs[3].model, *file.runs[4].model);
  EXPECT_NE(*file.runs[2].model, *file.runs[3].model);
}

TEST(TellApart, StrategiesAreNoRepeats) {
  const ImportedFile file = import_text(
      R"([{"strategy": "ddp", "world_size": 2, "batch_size_per_gpu": 1, "step_time_ms": 180},)"
      R"( {"strategy": "fsdp", "world_size": 2, "batch_size_per_gpu": 1, "step_time_ms": 150}])",
      "sweep.json");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_EQ(*file.runs[0].model, "sweep (ddp)");
  EXPECT_EQ(*file.runs[1].model, "sweep (fsdp)");
}

TEST(TellApart, NodesAreAConfigurationAndNoVariant) {
  const ImportedFile file = import_text(
      "Nodes | GPUs per node | host names | total time (s)\n1 | 1 | a | 80\n1 | 2 | a | 42\n"
      "2 | 1 | a b | 48\n");
  ASSERT_EQ(file.runs.size(), 3u);
  EXPECT_EQ(networks_of(file).size(), 1u) << "all are one series";
}

TEST(TellApart, TablesOfOtherLearningRatesAreNoRepeats) {
  const auto table = [](const std::string& rate) {
    return "epoch,train_loss,epoch_time,learning_rate,weight_decay\n1,0.9,10.1," + rate +
           ",0.0001\n2,0.8,10.2," + rate + ",0.0001\n3,0.7,10.1," + rate + ",0.0001\n";
  };
  std::vector<ImportedFile> files;
  files.push_back(import_text(table("0.1"), "run_1gpu_a1.csv"));
  files.push_back(import_text(table("0.01"), "run_1gpu_a1.csv"));
  tell_apart(files);
  EXPECT_NE(*files[0].runs[0].model, *files[1].runs[0].model);

  const ImportedFile decayed = import_text(
      "epoch,train_loss,learning_rate\n1,0.9,0.1\n2,0.8,0.05\n3,0.7,0.01\n", "run_1gpu_a1.csv");
  EXPECT_FALSE(decayed.runs[0].notes.contains("setting")) << "a schedule is no setting";
}

}  // namespace
}  // namespace lockstep::import
