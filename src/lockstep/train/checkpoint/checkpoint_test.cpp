#include "lockstep/train/checkpoint/checkpoint.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "lockstep/base/error.h"

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;

class CheckpointFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "lockstep_checkpoint_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  void TearDown() override { fs::remove_all(path_); }

  static Checkpoint at_step(std::int64_t step) {
    Checkpoint checkpoint;
    checkpoint.identity = {"fashion", 12, 3, 256, record::Optimizer::kAdam};
    checkpoint.position = {2, step, step, 0.1 + 0.2, 7, 9};
    checkpoint.model = {{"weight", torch::full({3, 4}, static_cast<float>(step))}};
    checkpoint.optimizer = {{"velocity/weight", torch::randn({3, 4})}};
    checkpoint.figures = {{"optimizer_steps", 10}, {"plateau_best", 0.1 + 0.2}};
    return checkpoint;
  }

  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), {}));
  }

  std::string path_;
};

TEST_F(CheckpointFolderTest, ReadsBackTheNewestBitForBit) {
  CheckpointFolder folder(path_);
  folder.write(at_step(9));
  const Checkpoint written = at_step(10);
  folder.write(written);
  const auto read = folder.read_newest();
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->identity.recipe, "fashion");
  EXPECT_EQ(read->identity.global_batch, 256);
  EXPECT_EQ(read->position.epoch, 2);
  EXPECT_EQ(read->position.total, 10);
  EXPECT_EQ(read->position.loss_sum, 0.1 + 0.2);
  EXPECT_TRUE(torch::equal(read->model.at(0).tensor, written.model[0].tensor));
  EXPECT_TRUE(torch::equal(read->optimizer.at(0).tensor, written.optimizer[0].tensor));
  EXPECT_EQ(read->figures, written.figures);
  EXPECT_EQ(read->identity.optimizer, record::Optimizer::kAdam);
}

TEST_F(CheckpointFolderTest, TakesNothingFromAWriterThatWasReplaced) {
  CheckpointFolder stopped(path_);
  stopped.claim();
  stopped.write(at_step(9));
  CheckpointFolder restarted(path_);
  restarted.claim();
  EXPECT_THROW(stopped.write(at_step(20)), Error);
  restarted.write(at_step(10));
  EXPECT_EQ(restarted.read_newest()->position.total, 10);
  for (const auto& entry : fs::directory_iterator(path_)) {
    EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
  }
}

TEST_F(CheckpointFolderTest, KeepsTheNewestTwo) {
  CheckpointFolder folder(path_);
  for (int step = 1; step <= 5; ++step) folder.write(at_step(step));
  EXPECT_EQ(files(), 4u);
  EXPECT_EQ(folder.read_newest()->position.total, 5);
}

TEST_F(CheckpointFolderTest, PassesOverWhatWasCutShortOrChanged) {
  CheckpointFolder folder(path_);
  folder.write(at_step(1));
  const std::string newest = folder.write(at_step(2));
  for (const auto damage : {0, 1, 2}) {
    const auto size = fs::file_size(newest);
    if (damage == 0) {
      std::fstream file(newest, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(size / 2));
      file.put('!');
    } else {
      fs::resize_file(newest, damage == 1 ? size - 1 : 0);
    }
    EXPECT_EQ(folder.read_newest()->position.total, 1);
  }
  std::ofstream(path_ + "/checkpoint-000000000003.json") << "{\"v\":1";
  EXPECT_EQ(folder.read_newest()->position.total, 1);
}

TEST_F(CheckpointFolderTest, FindsNothingInAnEmptyFolderAndMakesAMissingOne) {
  EXPECT_FALSE(CheckpointFolder(path_ + "/new/one").read_newest().has_value());
  EXPECT_TRUE(fs::is_directory(path_ + "/new/one"));
}

TEST_F(CheckpointFolderTest, RefusesAPathThatIsNotAFolder) {
  std::ofstream(path_ + "/file") << "x";
  try {
    CheckpointFolder folder(path_ + "/file/below");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
  }
}

TEST(CopyTensors, NamesTheFirstDifferenceOfAnotherNetwork) {
  const std::vector<NamedTensor> ours{{"a", torch::zeros({2})}, {"b", torch::zeros({3})}};
  const auto problem = [&](const std::vector<NamedTensor>& theirs) -> std::string {
    try {
      copy_tensors(theirs, ours);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(problem({{"b", torch::ones({3})}, {"a", torch::ones({2})}}), "");
  EXPECT_TRUE(torch::equal(ours[0].tensor, torch::ones({2})));
  EXPECT_NE(problem({{"a", torch::ones({2})}}).find("1 tensors instead of 2"), std::string::npos);
  EXPECT_NE(problem({{"a", torch::ones({2})}, {"c", torch::ones({3})}}).find("no 'b'"),
            std::string::npos);
  EXPECT_NE(problem({{"a", torch::ones({4})}, {"b", torch::ones({3})}}).find("a different shape"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::train
