#include "lockstep/watch/live_steps.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

namespace lockstep::watch {
namespace {

namespace fs = std::filesystem;

class LiveStepsOfARun : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  void append(int rank, const std::string& text) {
    const std::string name = "rank-" + std::to_string(rank) + "-here-1.jsonl";
    std::ofstream(folder_ / name, std::ios::app) << text;
  }
  static std::string start(int rank) {
    return R"({"type":"started","v":1,"rank":)" + std::to_string(rank) +
           R"(,"world":2,"unit":"images","loader":{"workers":0,"batch":16,"batches":10}})"
           "\n";
  }
  /// One step of 0.5 s with 16 examples.
  static std::string step(int index, int epoch) {
    const std::string begin = std::to_string(index * 500'000'000LL);
    const std::string end = std::to_string((index + 1) * 500'000'000LL);
    return R"({"type":"steps","step":[)" + std::to_string(index) + R"(],"epoch":[)" +
           std::to_string(epoch) + R"(],"examples":[16],"start_ns":[)" + begin + R"(],"end_ns":[)" +
           end +
           R"(],"phases_ns":[[0,0,0,500000000,0,0,0]],"collectives_ns":[[]]})"
           "\n";
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("live-steps-test-" + std::to_string(::getpid()));
};

TEST_F(LiveStepsOfARun, ReportStepWithinTheEpochAndTheRateOfAllWorkers) {
  LiveSteps live(folder_);
  EXPECT_FALSE(live.poll());
  append(0, start(0) + step(0, 1) + step(1, 1));
  const auto now = live.poll();
  ASSERT_TRUE(now);
  EXPECT_EQ(now->epoch, 1);
  EXPECT_EQ(now->step, 2);
  EXPECT_EQ(now->steps_per_epoch, 10);
  EXPECT_DOUBLE_EQ(now->examples_per_s, 64);  // 2 workers x 16 in 0.5 s
  EXPECT_EQ(progress_text(*now, live.rate_unit()), "epoch 1, step 2/10, 64 images/s");
  EXPECT_FALSE(live.poll()) << "no news";
}

TEST_F(LiveStepsOfARun, WaitForTheEndOfALineThatIsBeingWritten) {
  LiveSteps live(folder_);
  const std::string line = step(0, 1);
  append(0, start(0) + line.substr(0, 20));
  EXPECT_FALSE(live.poll());
  append(0, line.substr(20));
  ASSERT_TRUE(live.poll());
}

TEST_F(LiveStepsOfARun, CountFromTheStartOfEachEpoch) {
  LiveSteps live(folder_);
  append(0, start(0) + step(0, 1) + step(1, 1) + step(2, 1) + step(3, 2));
  const auto now = live.poll();
  ASSERT_TRUE(now);
  EXPECT_EQ(now->epoch, 2);
  EXPECT_EQ(now->step, 1);
  EXPECT_EQ(now->steps_per_epoch, 3) << "as many as the epoch that is complete";
}

TEST_F(LiveStepsOfARun, GiveOutEpochsWithTheFiguresThatTheProgramLogged) {
  const auto figure = [](int epoch, const std::string& name, const std::string& value) {
    return R"({"type":"figure","epoch":)" + std::to_string(epoch) + R"(,"name":")" + name +
           R"(","value":)" + value + "}\n";
  };
  LiveSteps live(folder_);
  append(0, start(0) + step(0, 1) + figure(1, "train_loss", "2") + step(1, 1) +
                figure(1, "train_loss", "1") + figure(1, "val_accuracy", "0.5") +
                figure(1, "rouge", "7") + step(2, 2));
  const auto now = live.poll();
  ASSERT_TRUE(now);
  EXPECT_DOUBLE_EQ(now->loss, 1.5) << "the mean since the last look";
  const auto epochs = live.logged_epochs();
  ASSERT_EQ(epochs.size(), 1U) << "nothing was logged for the second";
  EXPECT_EQ(epochs[0].epoch, 1);
  EXPECT_EQ(epochs[0].train_loss, 1);
  EXPECT_EQ(epochs[0].val_accuracy, 0.5);
  EXPECT_EQ(epochs[0].metrics.at("rouge"), 7);
  EXPECT_EQ(epochs[0].examples, 64) << "2 steps x 2 workers x 16";
  EXPECT_TRUE(live.logged_epochs().empty());
  append(0, step(3, 2));
  EXPECT_TRUE(std::isnan(live.poll()->loss));
}

TEST_F(LiveStepsOfARun, FollowTheLowestRank) {
  LiveSteps live(folder_);
  append(1, start(1) + step(0, 1));
  ASSERT_TRUE(live.poll());
  append(0, start(0) + step(0, 1) + step(1, 1));
  const auto now = live.poll();
  ASSERT_TRUE(now);
  EXPECT_EQ(now->step, 2);
}

TEST_F(LiveStepsOfARun, AreSilentAboutAFolderThatIsGoneAndLinesThatAreNotOurs) {
  LiveSteps live(folder_);
  append(0, start(0) + "{\"type\":\"steps\"}\nnothing\n");
  EXPECT_FALSE(live.poll());
  fs::remove_all(folder_);
  EXPECT_FALSE(live.poll());
}

}  // namespace
}  // namespace lockstep::watch
