#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>
#include <string>

#include "lockstep/import/import_fixture.h"
#include "lockstep/import/merge_ranks.h"
#include "lockstep/import/run_record.h"
#include "lockstep/import/scan/crc32c.h"
#include "lockstep/import/scan/intervals.h"

namespace lockstep::import {
namespace {

TEST(TraceFormats, ChecksumOfTheStandardTestText) {
  EXPECT_EQ(crc32c("123456789", 9), 0xE3069283u);  // the check value of CRC-32C
}

TEST(TraceFormats, EventFileGivesEpochsAndTheirWallTimes) {
  const ImportedFile file = import_text(event_file_text());
  EXPECT_EQ(file.format, "tensorboard");
  const ImportedRun& run = file.runs.at(0);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_EQ(run.epochs[1].epoch, 2);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_loss, 0.25);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.75);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_s, 12);
  EXPECT_EQ(*run.started_wall_ns, 1'700'000'000'000'000'000);
}

TEST(TraceFormats, EventFileOfTheTrainerCountsEpochsThatAreDone) {
  std::ostringstream out;
  {
    EventFileWriter writer(out, 1'700'000'000'000'000'000);
    for (int i = 1; i <= 4; ++i) {
      const std::int64_t wall = 1'700'000'000'000'000'000 + i * 10'000'000'000;
      writer.scalar("train/loss", i * 50, 1.0 / i, wall);
      writer.scalar("train/epoch", i * 50, i * 0.5, wall);
    }
  }
  const ImportedRun run = import_text(out.str()).runs.at(0);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_NEAR(run.epochs[0].train_loss, 0.75, 1e-6);
  EXPECT_NEAR(run.epochs[1].train_s, 20, 1e-6);
}

TEST(TraceFormats, EventFileIsReadUpToTheDamagedRecord) {
  std::string bytes = event_file_text();
  bytes[bytes.size() - 10] ^= 1;
  const ImportedFile file = import_text(bytes);
  ASSERT_EQ(file.warnings.size(), 1u);
  EXPECT_NE(file.warnings[0].find("fails its checksum at byte"), std::string::npos);
  EXPECT_EQ(file.runs.size(), 1u);
}

TEST(TraceFormats, HorovodTimelineNeverClosed) {
  const ImportedFile file = import_fixture("timeline.json");
  EXPECT_EQ(file.format, "horovod-timeline");
  EXPECT_TRUE(file.warnings.empty());
  const ImportedRun& run = file.runs.at(0);
  EXPECT_EQ(*run.workers, 2);
  EXPECT_DOUBLE_EQ(run.step_time.median(), 0.05);
  ASSERT_EQ(run.ranks.size(), 1u);
  EXPECT_DOUBLE_EQ(run.ranks[0].communication_s, 0.001);
  EXPECT_FALSE(std::isfinite(run.ranks[0].compute_s));
  EXPECT_DOUBLE_EQ(run.other.at("negotiation_s").last(), 0.0005);
  EXPECT_DOUBLE_EQ(run.other.at("bytes_per_step").last(), 2560);
}

TEST(TraceFormats, KinetoSplitsStepsIntoComputeAndCommunication) {
  const ImportedFile file = import_fixture("kineto_rank1.json");
  EXPECT_EQ(file.format, "kineto");
  const ImportedRun& run = file.runs.at(0);
  EXPECT_EQ(*run.workers, 2);
  EXPECT_EQ(*run.device, "Test GPU");
  EXPECT_EQ(run.step_time.count(), 2u);
  EXPECT_NEAR(run.step_time.median(), 1e-3, 1e-12);
  ASSERT_EQ(run.ranks.size(), 1u);
  const RankSplit& split = run.ranks[0];
  EXPECT_EQ(split.rank, 1);
  EXPECT_NEAR(split.compute_s, 500e-6, 1e-12);
  EXPECT_NEAR(split.communication_s, 250e-6, 1e-12);
  EXPECT_NEAR(split.overlap_s, 50e-6, 1e-12);
  EXPECT_NEAR(split.exposed_s, 200e-6, 1e-12);
  EXPECT_NEAR(split.idle_s, 250e-6, 1e-12);
}

TEST(TraceFormats, PhasesOfATraceAddUpToItsStep) {
  std::map<std::string, double> row;
  for (const record::Measurement& one :
       measurements(import_fixture("kineto_rank1.json").runs.at(0)))
    row[one.metric] = one.value;
  const RankSplit split = import_fixture("kineto_rank1.json").runs.at(0).ranks.at(0);
  EXPECT_DOUBLE_EQ(row.at("compute_time"), split.compute_s);
  EXPECT_DOUBLE_EQ(row.at("sync_time"), split.exposed_s);
  EXPECT_NEAR(row.at("compute_time") + row.at("sync_time") + row.at("other_time"),
              row.at("step_time"), 1e-12);
}

TEST(TraceFormats, KinetoCutOffKeepsWhatCameBefore) {
  const std::string whole = fixture_text("kineto_rank1.json");
  const ImportedFile file = import_text(whole.substr(0, whole.find("\"gpu_memcpy\"")));
  EXPECT_EQ(file.runs.size(), 1u);
  ASSERT_EQ(file.warnings.size(), 1u);
  EXPECT_NE(file.warnings[0].find("at byte"), std::string::npos);
}

TEST(TraceFormats, TracesOfOneJobBecomeOneRun) {
  const std::string rank1 = fixture_text("kineto_rank1.json");
  std::string rank0 = rank1;
  rank0.replace(rank0.find("\"rank\": 1"), 9, "\"rank\": 0");
  std::vector<ImportedFile> files;
  files.push_back(import_text(rank1, "job/rank1.json"));
  files.push_back(import_text(rank0, "job/rank0.json"));
  files.push_back(import_text(rank0, "other/rank0.json"));
  merge_ranks(files);
  EXPECT_TRUE(files[0].runs.empty());
  ASSERT_EQ(files[1].runs.size(), 1u);
  ASSERT_EQ(files[1].runs[0].ranks.size(), 2u);
  EXPECT_EQ(files[1].runs[0].ranks[1].rank, 1);
  EXPECT_EQ(files[2].runs.size(), 1u);
}

TEST(Intervals, CountOverlapsOnceAndClip) {
  Intervals a;
  a.add(0, 10);
  a.add(5, 20);
  a.add(30, 40);
  a.add(2, 3);
  Intervals b;
  b.add(15, 35);
  a.settle();
  b.settle();
  EXPECT_DOUBLE_EQ(a.covered(0, 100), 30);
  EXPECT_DOUBLE_EQ(a.covered(8, 32), 14);
  EXPECT_DOUBLE_EQ(a.shared(b, 0, 100), 10);
  EXPECT_DOUBLE_EQ(b.shared(a, 0, 18), 3);
}

TEST(TraceFormats, KinetoEventsAloneInAnArray) {
  const ImportedFile file = import_text(
      R"([{"ph": "X", "cat": "Operator", "name": "ProfilerStep#3", "ts": 100, "dur": 50},)"
      R"({"ph": "X", "cat": "Kernel", "name": "sgemm", "ts": 110, "dur": 20,)"
      R"( "args": {"grid": [1, {"a": "}\"]"}], "x": "\\"}},)"
      R"({"ph": "X", "cat": "Kernel", "name": "ncclKernel", "ts": 120, "dur": 20}])");
  EXPECT_EQ(file.format, "kineto");
  const RankSplit& split = file.runs.at(0).ranks.at(0);
  EXPECT_DOUBLE_EQ(split.step_s, 50e-6);
  EXPECT_DOUBLE_EQ(split.compute_s, 20e-6);
  EXPECT_DOUBLE_EQ(split.exposed_s, 10e-6);
  EXPECT_TRUE(file.warnings.empty());
}

}  // namespace
}  // namespace lockstep::import
