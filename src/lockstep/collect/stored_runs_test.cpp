#include "lockstep/collect/stored_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/base/error.h"
#include "lockstep/store/imports.h"
#include "lockstep/store/store_fixture.h"

namespace lockstep::collect {
namespace {

using record::Measurement;

class StoredRunsTest : public store::StoreTest {
 protected:
  std::int64_t write_run(int workers, std::int64_t batch, const std::string& study = "sweep") {
    store::RunWriter writer(path(), {study, "cell", 1});
    writer.write(store::started(workers, batch));
    writer.write(store::epoch(1));
    writer.write(store::epoch(2));
    writer.write(store::steps(0, 50));
    writer.write(record::RunEnded{record::RunStatus::kDone, 1, 10, 0, ""});
    return writer.run_id();
  }

  std::int64_t write_out_of_memory(std::int64_t batch) {
    store::RunWriter writer(path(), {"sweep", "cell", 1});
    writer.write(store::started(2, batch));
    writer.write(record::WorkerError{0, std::string(kind_name(ErrorKind::kMemory)), "full", ""});
    writer.write(record::RunEnded{record::RunStatus::kFailed, 1, 10, 0, ""});
    return writer.run_id();
  }

  void import_runs(int count) {
    std::vector<store::ImportedRecord> runs;
    for (int i = 0; i < count; ++i) {
      store::ImportedRecord run;
      run.source = {fmt::format("digest {}", i), "", fmt::format("{}.log", i), "keras"};
      run.started = store::started(1 << (i % 4), 32, "resnet");
      run.ended = {record::RunStatus::kDone, 1, 10, 0, ""};
      for (int epoch = 1; epoch <= 3; ++epoch) {
        Measurement row;
        row.model = "resnet";
        row.workers = run.started.spec.workers;
        row.batch_per_worker = 32;
        row.metric = "epoch_time";
        row.value = 10.0 / run.started.spec.workers;
        row.unit = "s";
        row.epoch = epoch;
        row.warm_up = epoch == 1;
        run.measurements.push_back(row);
      }
      runs.push_back(std::move(run));
    }
    store::add_imports(path(), runs);
  }

  StoredRuns collect(const Selection& selection = {}) {
    store::Store store(path());
    return stored_runs(store, selection, digests_);
  }

  static std::int64_t rows_of(const StoredRuns& found, std::int64_t run) {
    return std::count_if(found.rows.begin(), found.rows.end(),
                         [&](const Measurement& row) { return row.run == std::to_string(run); });
  }

  RunDigests digests_;
};

TEST_F(StoredRunsTest, RunsOfOurOwnThoseOutOfMemoryAndImportedOnesComeInOneTable) {
  const std::int64_t done = write_run(2, 128);
  const std::int64_t full = write_out_of_memory(4096);
  import_runs(2);
  const StoredRuns found = collect();
  EXPECT_EQ(found.listed.size(), 4u);
  EXPECT_EQ(found.runs.size(), 3u);
  EXPECT_EQ(found.left_out, 0);
  EXPECT_GT(rows_of(found, done), 4);
  EXPECT_EQ(rows_of(found, 3), 3);
  ASSERT_EQ(rows_of(found, full), 1);
  const auto row = std::find_if(found.rows.begin(), found.rows.end(), [](const Measurement& one) {
    return one.metric == "out_of_memory";
  });
  ASSERT_NE(row, found.rows.end());
  EXPECT_EQ(row->batch_per_worker, 4096);
}

TEST_F(StoredRunsTest, LeavesOutRunsThatAreNotDoneUnlessTheyAreNamed) {
  write_run(1, 128);
  store::RunWriter writer(path(), {"sweep", "cell", 2});
  writer.write(store::started(2, 128));
  writer.write(store::epoch(1));
  EXPECT_EQ(collect().left_out, 1);
  EXPECT_EQ(rows_of(collect(), writer.run_id()), 0);
  EXPECT_GT(rows_of(collect({"", {writer.run_id()}}), writer.run_id()), 0);
}

TEST_F(StoredRunsTest, AStudyIsReadAloneAndAnUnknownOneIsAnError) {
  write_run(1, 128, "first");
  write_run(2, 128, "second");
  EXPECT_EQ(collect({"second", {}}).runs.size(), 1u);
  try {
    collect({"third", {}});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_EQ(error.hint(), "studies in this store: first, second");
  }
}

TEST_F(StoredRunsTest, RunsWithoutFiguresAreAnErrorWithTheWayToStateThem) {
  store::ImportedRecord run;
  run.source = {"digest", "", "table.csv", "tables"};
  run.started = store::started(2, 128);
  run.ended = {record::RunStatus::kDone, 1, 10, 0, ""};
  store::add_imports(path(), std::vector{run});
  store::Store store(path());
  try {
    measured_runs(store, {});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "1 run in " + path() + " has no time, loss or accuracy");
    EXPECT_NE(error.hint().find("--set NAME=VALUE"), std::string::npos) << error.hint();
  }
}

TEST_F(StoredRunsTest, AStoreOfAThousandRunsIsReadWhole) {
  import_runs(1000);
  const StoredRuns found = collect();
  EXPECT_EQ(found.runs.size(), 1000u);
  EXPECT_EQ(found.rows.size(), 3000u);
  EXPECT_EQ(found.rows[1].run, "1");
  EXPECT_EQ(found.rows[2999].run, "1000");
}

TEST_F(StoredRunsTest, TheRoomOfAHostIsKnownWhereAllRunsOfTheModelWereStartedOnIt) {
  write_run(1, 128);
  import_runs(1);
  const auto rooms = host_rooms(collect().runs);
  ASSERT_EQ(rooms.size(), 1u);
  EXPECT_EQ(rooms.at("fashion"), 2);
}

}  // namespace
}  // namespace lockstep::collect
