#include "lockstep/measure/trace_writer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "lockstep/base/error.h"

namespace lockstep::measure {
namespace {

using record::Phase;
using record::StepTimes;

class TraceWriterTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  nlohmann::json read() const { return nlohmann::json::parse(std::ifstream(path_)); }

  std::string path_ = ::testing::TempDir() + "lockstep-trace-" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".json";
};

std::vector<StepTimes> one_step_on_two_ranks() {
  std::vector<StepTimes> steps(2);
  for (int rank = 0; rank < 2; ++rank) {
    auto& step = steps[static_cast<std::size_t>(rank)];
    step.rank = rank;
    step.start_ns = 5'000'000 + rank * 1'000;
    step.total_s = 30e-6;
    step[Phase::kForward] = 10e-6;
    step[Phase::kBackward] = 20e-6;
  }
  return steps;
}

TEST_F(TraceWriterTest, PutsPhasesOneAfterTheOtherOnEachRanksTrack) {
  TraceWriter writer(path_, 2);
  const auto steps = one_step_on_two_ranks();
  const std::vector<BucketMark> marks{{1, 0, 0, 5'021'000}};
  writer.write(steps, marks);
  writer.finish();

  int phases = 0, instants = 0;
  for (const auto& event : read()) {
    if (event["name"] == "backward") {
      ++phases;
      const double start = event["pid"] == 0 ? 10.0 : 11.0;
      EXPECT_DOUBLE_EQ(event["ts"].get<double>(), start);
      EXPECT_DOUBLE_EQ(event["dur"].get<double>(), 20.0);
    }
    if (event["name"] == "bucket 0") {
      ++instants;
      EXPECT_DOUBLE_EQ(event["ts"].get<double>(), 21.0);
    }
  }
  EXPECT_EQ(phases, 2);
  EXPECT_EQ(instants, 1);
}

TEST_F(TraceWriterTest, StopsAtItsSizeLimitAndReportsIt) {
  TraceWriter writer(path_, 2, 4'000);
  const auto steps = one_step_on_two_ranks();
  for (int i = 0; i < 1000; ++i) writer.write(steps, {});
  writer.finish();
  EXPECT_LT(std::filesystem::file_size(path_), 6'000u);
  bool said = false;
  for (const auto& event : read()) said = said || event["name"] == "process_labels";
  EXPECT_TRUE(said);
}

TEST_F(TraceWriterTest, NamesAPathItCannotWrite) {
  EXPECT_THROW(TraceWriter("/nonexistent/trace.json", 1), Error);
}

TEST_F(TraceWriterTest, LabelsBucketsThatWereOnlyQueuedForADevice) {
  TraceWriter writer(path_, 2, TraceWriter::kMostBytes, /*queued=*/true);
  const auto steps = one_step_on_two_ranks();
  const std::vector<BucketMark> marks{{1, 0, 0, 5'021'000}};
  writer.write(steps, marks);
  writer.finish();
  int labelled = 0;
  for (const auto& event : read()) labelled += event["name"] == "bucket 0 queued" ? 1 : 0;
  EXPECT_EQ(labelled, 1);
}

}  // namespace
}  // namespace lockstep::measure
