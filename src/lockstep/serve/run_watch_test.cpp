#include "lockstep/serve/run_watch.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lockstep/base/error.h"
#include "lockstep/store/imports.h"

namespace lockstep::serve {
namespace {

using nlohmann::json;

class SetClock final : public Clock {
 public:
  Nanoseconds monotonic() const override { return now; }
  Nanoseconds wall() const override { return now; }
  Nanoseconds now = 1;
};

class RunWatchTest : public ::testing::Test {
 protected:
  ~RunWatchTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  static std::string fresh_folder() {
    std::string pattern = ::testing::TempDir() + "lockstep-watch-XXXXXX";
    return ::mkdtemp(pattern.data()) != nullptr ? pattern : "";
  }

  std::string store() const { return folder_ + "/lockstep.db"; }

  static record::RunStarted started() {
    record::RunStarted event;
    event.spec.recipe = "fashion";
    event.spec.workers = 2;
    event.spec.batch_per_worker = 100;
    event.spec.epochs = 2;
    event.steps_per_epoch = 50;
    return event;
  }

  /// Looks as if the last look were long ago.
  std::optional<json> changes() {
    clock_.now += 10'000'000'000;
    const auto text = watch_.changes();
    return text ? std::optional<json>(json::parse(*text)) : std::nullopt;
  }

  const std::string folder_ = fresh_folder();
  SetClock clock_;
  RunWatch watch_{store(), clock_};
};

TEST_F(RunWatchTest, OfAStoreThatIsNotThereYetHasNoRuns) {
  EXPECT_TRUE(json::parse(watch_.snapshot())["runs"].empty());
  EXPECT_FALSE(std::filesystem::exists(store()));
}

TEST_F(RunWatchTest, ImportedRunsHaveTheirRateAndNoStartThatIsUnknown) {
  store::ImportedRecord imported;
  imported.source = {"digest", "", "one.csv", "measurements"};
  imported.started.spec.recipe = "measurements";
  imported.ended = {record::RunStatus::kDone, 0, 0, 0, ""};
  record::Measurement row;
  row.metric = "throughput";
  row.value = 276;
  imported.measurements.push_back(row);
  store::add_imports(store(), std::vector{imported});
  const json run = json::parse(watch_.snapshot())["runs"].at(0);
  EXPECT_EQ(run.at("started"), "");
  EXPECT_EQ(run.at("examples_per_s"), 276);
}

TEST_F(RunWatchTest, ReportsProgressTimeLeftAndEpochsOfARunInProgress) {
  store::RunWriter writer(store(), {"sweep", "a cell", 1});
  writer.write(started());
  writer.write(record::Progress{1, 25, 50, 2000, 0.5});
  json run = json::parse(watch_.snapshot())["runs"][0];
  EXPECT_EQ(run["state"], "running");
  EXPECT_EQ(run["fraction"], 0.25);
  EXPECT_EQ(run["remaining_s"], 75 * 200 / 2000.0);
  EXPECT_EQ(run["samples"], json::parse("[[0.5,0.5,2000.0]]"));
  EXPECT_TRUE(changes().has_value());
  EXPECT_FALSE(changes().has_value());

  record::EpochResult epoch;
  epoch.epoch = 1;
  epoch.train_loss = 0.4;
  epoch.train_s = 3;
  writer.write(epoch);
  writer.write(record::Progress{2, 10, 50, 1000, 0.3});
  const auto change = changes();
  ASSERT_TRUE(change.has_value());
  run = (*change)["runs"][0];
  EXPECT_EQ(run["epochs_done"], 1);
  EXPECT_EQ(run["curve"][0][1], 0.4);
  EXPECT_EQ(run["sample"], json::parse("[1.2,0.3,1000.0]"));
  EXPECT_EQ((*change)["studies"][0]["running"], 1);

  writer.write(record::RunEnded{record::RunStatus::kDone, 1, 10, 0, ""});
  const auto last = changes();
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ((*last)["runs"][0]["state"], "done");
  EXPECT_FALSE((*last)["runs"][0].contains("fraction"));
}

TEST_F(RunWatchTest, ReportsTheCourseOfARunFromBeforeItWasWatched) {
  store::RunWriter writer(store());
  writer.write(started());
  writer.write(record::Progress{1, 10, 50, 1000, 0.9});
  writer.write(record::Progress{1, 20, 50, 1000, record::kUnknown});
  writer.write(record::Progress{1, 30, 50, 2000, 0.7});
  RunWatch late(store(), clock_);
  const json run = json::parse(late.snapshot())["runs"][0];
  EXPECT_EQ(run["samples"], json::parse("[[0.2,0.9,1000.0],[0.4,null,1000.0],[0.6,0.7,2000.0]]"));
}

TEST_F(RunWatchTest, NoticesARunWhoseWriterExited) {
  {
    store::RunWriter writer(store());
    writer.write(started());
    EXPECT_EQ((*changes())["runs"][0]["state"], "running");
  }
  const auto change = changes();
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ((*change)["runs"][0]["state"], "killed");
}

TEST_F(RunWatchTest, ReportsWhichRunsWereDeleted) {
  {
    store::RunWriter writer(store());
    writer.write(started());
    writer.write(record::RunEnded{record::RunStatus::kDone, 1, 10, 0, ""});
  }
  changes();
  store::Store(store()).remove(std::array<std::int64_t, 1>{1});
  const auto change = changes();
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ((*change)["removed"], json::parse("[1]"));
}

TEST_F(RunWatchTest, TakesARunOfAStoreInTheOldOnesPlaceForAnotherRun) {
  {
    store::RunWriter writer(store());
    writer.write(started());
    writer.write(record::Progress{1, 40, 50, 2000, 0.5});
    watch_.snapshot();
  }
  std::filesystem::remove(store());
  store::RunWriter writer(store());
  record::RunStarted later = started();
  later.started_wall_ns = 77;
  writer.write(later);
  writer.write(record::Progress{1, 10, 50, 1000, 0.9});
  const json run = json::parse(watch_.snapshot())["runs"][0];
  EXPECT_EQ(run["id"], 1);
  EXPECT_EQ(run["samples"], json::parse("[[0.2,0.9,1000.0]]"));
}

TEST_F(RunWatchTest, OutlivesAStoreThatIsDamagedDeletedAndRecreated) {
  const auto write_run = [&] {
    store::RunWriter writer(store());
    writer.write(started());
    writer.write(record::RunEnded{record::RunStatus::kDone, 1, 10, 0, ""});
  };
  write_run();
  EXPECT_EQ((*changes())["runs"].size(), 1u);
  std::ofstream(store(), std::ios::trunc) << std::string(8192, 'x');
  EXPECT_THROW(changes(), Error);
  EXPECT_THROW(watch_.snapshot(), Error);
  std::filesystem::remove(store());
  EXPECT_EQ((*changes())["removed"], json::parse("[1]"));
  write_run();
  EXPECT_EQ((*changes())["runs"][0]["state"], "done");
}

}  // namespace
}  // namespace lockstep::serve
