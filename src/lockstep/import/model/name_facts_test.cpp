#include "lockstep/import/model/name_facts.h"

#include <gtest/gtest.h>

#include "lockstep/import/import_fixture.h"

namespace lockstep::import {
namespace {

TEST(NameFacts, FilesOfOneSeriesHaveOneName) {
  for (const char* path : {"resnet_1g.log", "logs/resnet_2gpus_b64.out", "resnet_8gpu.log.gz",
                           "resnet.n16.csv", "2x4gpu_resnet.log"}) {
    EXPECT_EQ(name_of_series(path), "resnet") << path;
  }
  EXPECT_EQ(name_of_series("resnet18-cifar10-4gpu.log"), "resnet18-cifar10");
  EXPECT_EQ(name_of_series("a4gpu-b.log"), "a-b");
}

TEST(NameFacts, NamesThatEveryRunHasGiveWayToTheFolders) {
  EXPECT_EQ(name_of_series("runs/vit_8gpu/metrics.csv"), "vit");
  EXPECT_EQ(name_of_series("vit/events.out.tfevents.1700000000.host.0"), "vit");
  EXPECT_EQ(name_of_series("logs/slurm-123456.out"), "slurm");
  EXPECT_EQ(name_of_series("bert_8gpu/rank-0.json.gz"), "bert");
  EXPECT_EQ(name_of_series("bert-on-8-gpus/README.md"), "bert-on");
  EXPECT_EQ(name_of_series("hw2.ipynb"), "hw2");
  EXPECT_EQ(name_of_series("metrics.csv"), "metrics");
  EXPECT_EQ(name_of_series("4gpu.log"), "");
}

TEST(NameFacts, NetworkIsNamedAfterTheFileOnlyWhereTheLogDoesNotNameIt) {
  const std::string log = "Epoch 1, loss 0.5\n";
  const ImportedRun unnamed = import_text(log, "vit_4gpu.log").runs.at(0);
  EXPECT_EQ(*unnamed.model, "vit");
  EXPECT_EQ(unnamed.model.from, Provenance::kName);
  const ImportedRun named =
      import_text("=> creating model 'resnet18'\n" + log, "vit_4gpu.log").runs.at(0);
  EXPECT_EQ(*named.model, "resnet18");
}

TEST(NameFacts, BatchOfANameMayBeOfAllWorkers) {
  const std::string log = "Epoch 1, loss 0.5\n";
  const ImportedRun run = import_text(log, "vit_8gpus_b256.log").runs.at(0);
  EXPECT_EQ(*run.batch_per_worker, 256);
  ASSERT_EQ(run.warnings.size(), 1u);
  EXPECT_NE(run.warnings[0].find("--set global_batch=256"), std::string::npos);
  const ImportedRun stated =
      import_text("Global batch size: 256\n" + log, "vit_8gpus_b256.log").runs.at(0);
  EXPECT_EQ(*stated.global_batch, 256);
  EXPECT_EQ(*stated.batch_per_worker, 32);
  EXPECT_TRUE(import_text(log, "vit_1gpu_b256.log").runs.at(0).warnings.empty());
}

TEST(NameFacts, BatchOfTheLogReplacesThatOfAName) {
  const std::string log = "world_size: 4\nbatch_size: 64\nEpoch 1, loss 0.5\n";
  EXPECT_EQ(*import_text(log, "bert_b4.log").runs.at(0).batch_per_worker, 64);
  const ImportedRun confirmed = import_text(log, "bert_b16.log").runs.at(0);
  EXPECT_EQ(*confirmed.batch_per_worker, 16);
  EXPECT_EQ(*confirmed.global_batch, 64);
}

TEST(NameFacts, RunsThatAFileNamesAreComparedByTheirOwnNames) {
  const ImportedFile file = import_text(
      "\"Step\",\"relu-8gpu - loss\",\"relu-4gpu - loss\",\"tanh-4gpu - loss\",\"x - loss__MIN\"\n"
      "1,0.5,0.6,0.7,0.5\n",
      "chart.csv");
  ASSERT_EQ(file.runs.size(), 3u);
  EXPECT_EQ(*file.runs[0].model, "relu");
  EXPECT_EQ(*file.runs[1].model, "relu");
  EXPECT_EQ(*file.runs[2].model, "tanh");
}

TEST(NameFacts, SerialRunsHaveOneWorker) {
  const ImportedRun run = import_text("Epoch 1, loss 0.5\n", "vgg_serial.log").runs.at(0);
  EXPECT_EQ(*run.workers, 1);
  EXPECT_EQ(*run.model, "vgg") << "compared with vgg_2gpu.log";
}

TEST(NameFacts, TimeAndHostOfATensorboardFolderNameNoNetwork) {
  EXPECT_EQ(name_of_series("Apr30_23-29-32_node07_resnet50_gpux4_b64.csv"), "resnet50");
  EXPECT_EQ(name_of_series("May01_08-05-06_login_resnet50_gpux8_b64.csv"), "resnet50");
  EXPECT_EQ(name_of_series("mar_4gpu.csv"), "mar");
}

TEST(NameFacts, NumberWithAUnitOfItsOwnCountsNoWorkers) {
  const std::string log = "Epoch 1, loss 0.5\n";
  const ImportedRun epochs = import_text(log, "exp_single_gpu_20ep.log").runs.at(0);
  EXPECT_EQ(*epochs.workers, 1);
  EXPECT_FALSE(import_text(log, "exp_gpu_20ep.log").runs.at(0).workers);
  EXPECT_EQ(*import_text(log, "exp_gpu_4_20ep.log").runs.at(0).workers, 4);
  EXPECT_EQ(*import_text(log, "resnet50_gpux8_b208.log").runs.at(0).workers, 8);
}

}  // namespace
}  // namespace lockstep::import
