#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "lockstep/base/error.h"
#include "lockstep/import/import_fixture.h"
#include "lockstep/import/import_paths.h"
#include "lockstep/import/run_folder.h"

namespace lockstep::import {
namespace {

namespace fs = std::filesystem;

/// A field of type "bytes".
std::string bytes_field(int number, const std::string& bytes) {
  std::string out;
  for (std::uint64_t value :
       {static_cast<std::uint64_t>(number) << 3 | 2, static_cast<std::uint64_t>(bytes.size())}) {
    for (; value >= 128; value >>= 7) out += static_cast<char>((value & 127) | 128);
    out += static_cast<char>(value);
  }
  return out + bytes;
}

std::string item(const std::string& key, const std::string& json) {
  return bytes_field(1, bytes_field(1, key) + bytes_field(16, json));
}

/// Records as Weights & Biases writes them, cut where a block of 32 KB ends.
std::string wandb_file(const std::vector<std::string>& records) {
  std::string out(":W&B\xe1\xbe\0", 7);
  for (const std::string& record : records) {
    for (std::size_t at = 0; at < record.size();) {
      std::size_t left = 32768 - out.size() % 32768;
      if (left < 7) {
        out.append(left, '\0');
        left = 32768;
      }
      const std::size_t size = std::min(record.size() - at, left - 7);
      const bool first = at == 0;
      const bool last = at + size == record.size();
      const std::string piece =
          std::string(1, static_cast<char>(first ? (last ? 1 : 2) : (last ? 4 : 3))) +
          record.substr(at, size);
      const auto sum = static_cast<std::uint32_t>(
          crc32(0, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size())));
      char head[6];
      std::memcpy(head, &sum, 4);
      head[4] = static_cast<char>(size & 255);
      head[5] = static_cast<char>(size >> 8);
      out.append(head, 6);
      out += piece;
      at += size;
    }
  }
  return out;
}

std::string history(int step, double train, double validation) {
  return bytes_field(2, item("iter", std::to_string(step)) +
                            item("train/loss", std::to_string(train)) +
                            item("val/loss", std::to_string(validation)) +
                            item("_runtime", std::to_string(10 + step)) +
                            item("picture", R"({"_type": "image-file", "size": 12})"));
}

std::vector<std::string> small_run() {
  return {bytes_field(17, bytes_field(4, item("batch_size", "48") + item("num_workers", "8") +
                                             item("world_size", "2") + item("model", "\"tiny\"")) +
                              bytes_field(8, "first try")),
          history(0, 4.25, 4.5),
          history(100, 2.5, 2.75),
          bytes_field(13, bytes_field(3, "iter 10: loss 9.5, time 52.50ms, mfu 6.64%\n")),
          bytes_field(13, bytes_field(3, "iter 20: loss 9.1, time 51.50ms, mfu 6.64%\n")),
          bytes_field(18, std::string("\x10\x96\x01", 3))};  // 150 s
}

TEST(WandbRun, HistoryConfigurationAndPrintedTimesAreOneRun) {
  const ImportedFile file = import_text(wandb_file(small_run()), "run-abc.wandb");
  EXPECT_EQ(file.format, "wandb-run");
  ASSERT_EQ(file.runs.size(), 1u);
  const ImportedRun& run = file.runs[0];
  EXPECT_EQ(*run.workers, 2);
  EXPECT_EQ(*run.batch_per_worker, 48);
  EXPECT_EQ(*run.model, "tiny");
  EXPECT_EQ(run.label, "first try");
  EXPECT_DOUBLE_EQ(run.train_loss.last(), 2.5);
  ASSERT_TRUE(run.at_end);
  EXPECT_DOUBLE_EQ(run.at_end->val_loss, 2.75);
  EXPECT_DOUBLE_EQ(*run.total_s, 150);
  EXPECT_NEAR(run.step_time.median(), 0.052, 1e-9);
  EXPECT_TRUE(run.epochs.empty());
}

TEST(WandbRun, LongRecordsGoOnInTheNextBlock) {
  std::vector<std::string> records{
      bytes_field(13, bytes_field(3, std::string(70'000, 'x') + "\n"))};
  for (const std::string& record : small_run()) records.push_back(record);
  const ImportedRun run = import_text(wandb_file(records), "run-abc.wandb").runs.at(0);
  EXPECT_DOUBLE_EQ(run.train_loss.last(), 2.5);
}

TEST(WandbRun, MemoryThatRanOutInTheOutputIsTheRunsEnd) {
  std::vector<std::string> records = small_run();
  records.push_back(bytes_field(
      13, bytes_field(3, "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate\n")));
  EXPECT_TRUE(import_text(wandb_file(records), "run-abc.wandb").runs.at(0).out_of_memory);
}

TEST(WandbRun, DamageEndsItWithAWarning) {
  std::string bytes = wandb_file(small_run());
  bytes[bytes.size() - 3] ^= 1;
  const ImportedFile file = import_text(bytes, "run-abc.wandb");
  ASSERT_EQ(file.runs.size(), 1u);
  ASSERT_EQ(file.warnings.size(), 1u);
  EXPECT_NE(file.warnings[0].find("fails its checksum"), std::string::npos);
  EXPECT_DOUBLE_EQ(*file.runs[0].total_s, 110);
  EXPECT_THROW(import_text(bytes.substr(0, 9), "run-abc.wandb"), Error);
}

class RunFolder : public ::testing::Test {
 protected:
  RunFolder() : folder_(fs::temp_directory_path() / fs::path("lockstep-run-folder-XXXXXX")) {
    std::string name = folder_.string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~RunFolder() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  ImportedFile read(const std::string& name) const {
    return Importer({}).read((folder_ / name).string());
  }

  fs::path folder_;
};

TEST_F(RunFolder, WandbFolderIsOneRunWithItsMachine) {
  write("wandb/run-1-abc/run-abc.wandb", wandb_file(small_run()));
  write("wandb/run-1-abc/files/output.log", "iter 10: loss 9.5, time 52.50ms, mfu 6.64%\n");
  write("wandb/run-1-abc/files/wandb-metadata.json",
        R"({"gpu": "NVIDIA T4", "gpu_count": 4, "state": "running"})");
  const auto paths = expand_paths({(folder_ / "wandb").string()});
  ASSERT_EQ(paths.size(), 1u);
  const ImportedFile file = Importer({}).read(paths[0].path);
  ASSERT_EQ(file.runs.size(), 1u);
  EXPECT_EQ(*file.runs[0].device, "NVIDIA T4");
  EXPECT_EQ(*file.runs[0].workers, 2);
  EXPECT_EQ(file.digest, import_text(wandb_file(small_run()), "x").digest);
}

TEST_F(RunFolder, WandbFolderWithoutItsRecordHasTheSummary) {
  write("run-2/files/wandb-summary.json",
        R"({"train/loss": 1.5, "val/loss": 1.75, "_runtime": 80, "_wandb": {"runtime": 91}})");
  write("run-2/files/config.yaml",
        "wandb_version: 1\n\nbatch_size:\n  desc: null\n  value: 64\nworld_size:\n  value: 4\n");
  const ImportedRun run = read("run-2").runs.at(0);
  EXPECT_EQ(*run.workers, 4);
  EXPECT_EQ(*run.batch_per_worker, 64);
  EXPECT_DOUBLE_EQ(*run.total_s, 91);
  EXPECT_DOUBLE_EQ(run.at_end->val_loss, 1.75);
}

TEST_F(RunFolder, MlflowRunsAreReadByExperiment) {
  write("mlruns/7/meta.yaml", "experiment_id: '7'\nname: clothes\n");
  write("mlruns/7/aa/meta.yaml",
        "run_name: quick-fox-1\nstart_time: 1700000000000\nend_time: 1700000061500\nstatus: 3\n");
  write("mlruns/7/aa/params/epochs", "3");
  write("mlruns/7/aa/params/optimizer", "adam");
  write("mlruns/7/aa/params/batch_size", "32\n");
  write("mlruns/7/aa/metrics/val_loss",
        "1700000020000 0.75 0\n1700000040000 0.5 1\n1700000060000 0.25 2\n");
  write("mlruns/7/aa/metrics/train/loss",
        "1700000020000 0.9 0\n1700000040000 0.6 1\n1700000060000 0.3 2\n");
  write("mlruns/7/bb/meta.yaml", "start_time: 1700000000000\nstatus: 4\n");
  write("mlruns/7/bb/params/epochs", "3");
  write("mlruns/7/bb/metrics/test_accuracy", "1700000020000 0.875 0\n");
  write("mlruns/0/meta.yaml", "experiment_id: '0'\nname: Default\n");
  const auto paths = expand_paths({(folder_ / "mlruns").string()});
  ASSERT_EQ(paths.size(), 4u);  // two runs, and the files that describe experiments
  const ImportedRun run = read("mlruns/7/aa").runs.at(0);
  EXPECT_EQ(*run.model, "clothes");
  EXPECT_EQ(*run.batch_per_worker, 32);
  EXPECT_DOUBLE_EQ(*run.total_s, 61.5);
  ASSERT_EQ(run.epochs.size(), 3u);
  EXPECT_DOUBLE_EQ(run.epochs[2].val_loss, 0.25);
  EXPECT_DOUBLE_EQ(run.epochs[2].train_loss, 0.3);
  EXPECT_FALSE(run.workers);
  const ImportedRun failed = read("mlruns/7/bb").runs.at(0);
  EXPECT_FALSE(failed.failure.empty());
  EXPECT_TRUE(failed.epochs.empty());
  EXPECT_FALSE(failed.total_s);
}

TEST_F(RunFolder, StepsOfMlflowAreNoEpochsWithoutASign) {
  write("aa/meta.yaml", "start_time: 1700000000000\n");
  write("aa/metrics/loss", "1700000020000 0.9 0\n1700000040000 0.6 100\n");
  const ImportedRun run = read("aa").runs.at(0);
  EXPECT_TRUE(run.epochs.empty());
  EXPECT_DOUBLE_EQ(run.train_loss.last(), 0.6);
}

TEST_F(RunFolder, OtherFoldersAreNoRuns) {
  write("logs/a.txt", "x");
  EXPECT_FALSE(is_run_folder(folder_ / "logs"));
  EXPECT_THROW(read("logs"), Error);
}

}  // namespace
}  // namespace lockstep::import
