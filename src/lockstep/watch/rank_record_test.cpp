#include "lockstep/watch/rank_record.h"

#include <gtest/gtest.h>

#include <fstream>

#include "lockstep/base/error.h"
#include "lockstep/base/test_folder.h"

namespace lockstep::watch {
namespace {

using record::Phase;

constexpr const char* kStarted =
    R"({"type":"started","v":1,"rank":1,"world":2,"host":"a","pid":7,"torch":"2.15","device":"cpu",)"
    R"("optimizer":"SGD","learning_rate":0.1,"threads":2,"parameters":10,)"
    R"("wall_minus_monotonic_ns":5})";
constexpr const char* kSteps =
    R"({"type":"steps","step":[0,1],"epoch":[1,1],"examples":[32,null],"start_ns":[1000,8000],)"
    R"("end_ns":[8000,10000],"phases_ns":[[1000,0,2000,1500,500,1000,1000],[0,0,2000,0,0,0,0]],)"
    R"("collectives_ns":[[[5000,5500]],null],"evaluation_ns":{"1":3000000000}})";

class RankRecordTest : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) {
    std::ofstream(std::filesystem::path(folder_.path()) / name) << text;
    return std::filesystem::path(folder_.path()) / name;
  }
  TestFolder folder_;
};

TEST_F(RankRecordTest, ReadsStepsWithTheirPhasesAndCollectives) {
  const auto rank =
      read_rank_record(write("rank-1.jsonl", std::string(kStarted) + "\n" + kSteps + "\n"));
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->rank, 1);
  EXPECT_EQ(rank->world, 2);
  EXPECT_EQ(rank->parameters, 10);
  ASSERT_EQ(rank->steps.size(), 2u);
  const WatchedStep& step = rank->steps[0];
  EXPECT_DOUBLE_EQ(step.times.total_s, 7e-6);
  EXPECT_DOUBLE_EQ(step.times[Phase::kTransfer], 0.5e-6);
  EXPECT_DOUBLE_EQ(step.times[Phase::kForward], 2e-6);
  EXPECT_EQ(step.times.examples, 32);
  ASSERT_TRUE(step.collectives);
  EXPECT_EQ(step.collectives->at(0).end_ns, 5500);
  EXPECT_DOUBLE_EQ(rank->evaluation_s.at(1), 3.0);
}

TEST_F(RankRecordTest, KeepsTheFirstStepsOfEachRank) {
  write("rank-1.jsonl", std::string(kStarted) + "\n" + kSteps + "\n");
  RunRecords records = read_run_records(folder_.path());
  keep_first_steps(records, 1);
  ASSERT_EQ(records.ranks.size(), 1u);
  EXPECT_EQ(records.ranks[0].steps.size(), 1u);
  keep_first_steps(records, 0);
  EXPECT_TRUE(records.ranks.empty());
}

TEST_F(RankRecordTest, KeepsUnknownExamplesAndCollectivesUnknown) {
  const auto rank =
      read_rank_record(write("rank-1.jsonl", std::string(kStarted) + "\n" + kSteps + "\n"));
  EXPECT_FALSE(rank->steps[1].examples_known);
  EXPECT_FALSE(rank->steps[1].collectives);
  EXPECT_FALSE(rank->peak_memory_bytes);
}

TEST_F(RankRecordTest, LeavesOutALineThatAKilledProcessDidNotFinish) {
  const auto rank = read_rank_record(
      write("rank-1.jsonl", std::string(kStarted) + "\n" + kSteps + "\n{\"type\":\"ended\",\"pea"));
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->steps.size(), 2u);
  EXPECT_FALSE(rank->peak_memory_bytes);
}

TEST_F(RankRecordTest, KeepsEnergyThatCannotBeReadUnknown) {
  const auto rank = read_rank_record(write(
      "rank-1.jsonl", std::string(kStarted) +
                          "\n{\"type\":\"energy\",\"at_ns\":5,\"processors_j\":null,\"gpu_j\":2.5,"
                          "\"gpu\":\"GPU-1\",\"problem\":\"no counter\"}\n"));
  ASSERT_EQ(rank->energy.size(), 1u);
  EXPECT_FALSE(rank->energy[0].processors_j);
  EXPECT_EQ(rank->energy[0].gpu_j, 2.5);
  EXPECT_EQ(rank->energy[0].problem, "no counter");
}

TEST_F(RankRecordTest, GivesNothingForAFileWithoutAStart) {
  EXPECT_FALSE(read_rank_record(write("rank-1.jsonl", std::string(kSteps) + "\n")));
}

TEST_F(RankRecordTest, NamesTheFileWhoseLinesLackFields) {
  const auto path = write("rank-1.jsonl", std::string(kStarted) + "\n{\"type\":\"steps\"}\n");
  try {
    read_rank_record(path);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_NE(std::string(error.what()).find("rank-1.jsonl"), std::string::npos);
  }
}

TEST_F(RankRecordTest, FindsReasonsOfProcessesThatStoppedBeforeTheirFirstStep) {
  write("stopped-7.txt", "TypeError: surprise\n");
  write("torch-7", "");
  const RunRecords records = read_run_records(folder_.path());
  EXPECT_TRUE(records.ranks.empty());
  EXPECT_TRUE(records.framework_imported);
  ASSERT_EQ(records.stopped.size(), 1u);
  EXPECT_EQ(records.stopped[0], "TypeError: surprise");
}

TEST_F(RankRecordTest, TellsAPythonWithoutPyTorchFromNone) {
  EXPECT_FALSE(read_run_records(folder_.path()).python_ran);
  write("python-7", "");
  const RunRecords records = read_run_records(folder_.path());
  EXPECT_TRUE(records.python_ran);
  EXPECT_FALSE(records.framework_imported);
}

}  // namespace
}  // namespace lockstep::watch
