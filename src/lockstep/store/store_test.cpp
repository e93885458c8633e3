#include "lockstep/store/store.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"
#include "lockstep/store/database.h"
#include "lockstep/store/store_fixture.h"

namespace lockstep::store {
namespace {

std::int64_t finished_run(const std::string& path, const record::RunStarted& start,
                          const RunLabel& label = {}) {
  RunWriter writer(path, label);
  writer.write(start);
  writer.write(epoch(1));
  writer.write(record::RunEnded{record::RunStatus::kDone, 2, 9.5, 1'000'000, "abc"});
  return writer.run_id();
}

TEST_F(StoreTest, GivesBackAllThatARunReported) {
  RunWriter writer(path(), {"sweep", "n2-b128", 3});
  EXPECT_EQ(writer.run_id(), 0);
  record::RunStarted start = started();
  start.spec.learning_rate = 0.05;
  start.machine.gpus = {"T4"};
  start.first_epoch = 2;
  writer.write(start);
  writer.write(record::Progress{1, 10, 234, 14'000, 0.5});
  writer.write(steps(0, 3));
  writer.write(epoch(1, 0.85));
  writer.write(epoch(2, 0.91));
  writer.write(record::UtilisationBlock{{{.rank = 1,
                                          .epoch = 1,
                                          .at_s = 2,
                                          .seconds = 1,
                                          .cpu_cores = 0.75,
                                          .resident_bytes = 12'345}}});
  writer.write(record::CheckpointWritten{"/tmp/c 1", 1, 234});
  writer.write(record::WorkerError{1, "data", "it's \"odd\"", "try\nagain"});
  writer.write(record::RunEnded{record::RunStatus::kInterrupted, 42, 12.5, 123'456, "digest"});

  const StoredRun run = Store(path()).load(writer.run_id());
  EXPECT_EQ(run.summary.state, RunState::kInterrupted);
  EXPECT_EQ(run.summary.label.study, "sweep");
  EXPECT_EQ(run.summary.label.cell, "n2-b128");
  EXPECT_EQ(run.summary.label.repeat, 3);
  EXPECT_EQ(run.summary.epochs_done, 2);
  EXPECT_EQ(run.summary.examples, 120'000);
  EXPECT_DOUBLE_EQ(run.summary.train_s, 8);
  EXPECT_DOUBLE_EQ(run.summary.last_val_accuracy, 0.91);
  EXPECT_EQ(run.summary.progress->step, 10);
  EXPECT_DOUBLE_EQ(run.started.spec.learning_rate, 0.05);
  EXPECT_EQ(run.started.machine.gpus, std::vector<std::string>{"T4"});
  EXPECT_EQ(run.started.build.version, "0.1.0");
  EXPECT_EQ(run.started.steps_per_epoch, 234);
  EXPECT_EQ(run.started.first_epoch, 2);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[1].train_loss, 0.5);
  EXPECT_TRUE(std::isnan(run.epochs[0].val_loss));
  EXPECT_DOUBLE_EQ(run.epochs[1].noise_scale, 601);
  EXPECT_DOUBLE_EQ(run.epochs[1].noise_scale_low, 200);
  EXPECT_TRUE(std::isnan(run.epochs[1].noise_scale_high));
  ASSERT_EQ(run.utilisation.size(), 1u);
  EXPECT_EQ(run.utilisation[0].rank, 1);
  EXPECT_DOUBLE_EQ(run.utilisation[0].cpu_cores, 0.75);
  EXPECT_EQ(run.utilisation[0].resident_bytes, 12'345);
  EXPECT_TRUE(std::isnan(run.utilisation[0].gpu));
  ASSERT_EQ(run.checkpoints.size(), 1u);
  EXPECT_EQ(run.checkpoints[0].path, "/tmp/c 1");
  ASSERT_EQ(run.errors.size(), 1u);
  EXPECT_EQ(run.errors[0].message, "it's \"odd\"");
  EXPECT_EQ(run.errors[0].hint, "try\nagain");
  ASSERT_TRUE(run.ended.has_value());
  EXPECT_EQ(run.ended->peak_memory_bytes, 123'456);
  EXPECT_EQ(run.ended->parameters_digest, "digest");
  EXPECT_EQ(run.steps, 6);
}

TEST_F(StoreTest, KeepsTheBucketSizeThatARunChose) {
  RunWriter writer(path(), {});
  record::RunStarted start = started();
  start.spec.bucket_auto = true;
  start.spec.bucket_bytes = 4'000'000;
  writer.write(start);
  EXPECT_EQ(Store(path()).load(writer.run_id()).started.spec.bucket_in_use(), 0u);
  writer.write(record::BucketChosen{1'000'000});
  const StoredRun run = Store(path()).load(writer.run_id());
  EXPECT_EQ(run.started.spec.bucket_in_use(), 1'000'000u);
  EXPECT_TRUE(run.started.spec.bucket_auto);
  EXPECT_EQ(run.started.spec.workers, start.spec.workers);
}

TEST_F(StoreTest, KeepsStepTimesToTheNanosecond) {
  Rng rng(3);
  record::StepBlock block;
  for (int i = 0; i < 500; ++i) {
    record::StepTimes step;
    step.step = i;
    step.rank = static_cast<int>(rng.below(4));
    step.start_ns = static_cast<std::int64_t>(rng.below(1'000'000'000'000'000));
    step.ready_ns =
        rng.below(2) == 0 ? 0 : step.start_ns + static_cast<std::int64_t>(rng.below(99));
    step.total_s = rng.uniform() * 100;
    for (double& phase : step.phase_s) phase = rng.uniform() * std::pow(10, -rng.uniform() * 9);
    block.steps.push_back(step);
  }
  RunWriter writer(path());
  writer.write(started());
  writer.write(block);
  std::size_t at = 0;
  Store(path()).visit_steps(writer.run_id(), [&](const record::StepTimes& step) {
    const record::StepTimes& original = block.steps.at(at++);
    EXPECT_EQ(step.step, original.step);
    EXPECT_EQ(step.rank, original.rank);
    EXPECT_EQ(step.start_ns, original.start_ns);
    EXPECT_EQ(step.ready_ns, original.ready_ns);
    EXPECT_NEAR(step.total_s, original.total_s, 0.51e-9);
    for (std::size_t p = 0; p < step.phase_s.size(); ++p) {
      EXPECT_NEAR(step.phase_s[p], original.phase_s[p], 0.51e-9);
    }
  });
  EXPECT_EQ(at, block.steps.size());
}

TEST_F(StoreTest, DistinguishesARunningRunFromOneWhoseWriterExited) {
  {
    RunWriter writer(path());
    writer.write(started());
    writer.write(epoch(1));
    EXPECT_EQ(Store(path()).runs().at(0).state, RunState::kRunning);
  }
  const RunSummary run = Store(path()).runs().at(0);
  EXPECT_EQ(run.state, RunState::kKilled);
  EXPECT_EQ(run.epochs_done, 1);
}

TEST_F(StoreTest, FiltersByRecipeStatusWorkersBatchAndStudy) {
  const std::int64_t a = finished_run(path(), started(1, 32));
  const std::int64_t b = finished_run(path(), started(2, 32), {"sweep", "x", 0});
  const std::int64_t c = finished_run(path(), started(2, 128, "gan"));
  RunWriter running(path());
  running.write(started(2, 32));
  Store store(path());
  const auto ids = [&](const RunFilter& filter) {
    std::vector<std::int64_t> found;
    for (const RunSummary& run : store.runs(filter)) found.push_back(run.id);
    return found;
  };
  using Ids = std::vector<std::int64_t>;
  EXPECT_EQ(ids({}), (Ids{a, b, c, running.run_id()}));
  EXPECT_EQ(ids({.recipe = "gan"}), Ids{c});
  EXPECT_EQ(ids({.state = RunState::kRunning}), Ids{running.run_id()});
  EXPECT_EQ(ids({.workers = 2, .batch_per_worker = 32}), (Ids{b, running.run_id()}));
  EXPECT_EQ(ids({.study = "sweep"}), Ids{b});
  EXPECT_EQ(ids({.recipe = "no'such"}), Ids{});
}

TEST_F(StoreTest, DeletesARunWithAllThatBelongsToIt) {
  std::int64_t id = 0;
  {
    RunWriter writer(path());
    writer.write(started());
    writer.write(steps(0, 10));
    writer.write(epoch(1));
    id = writer.run_id();
  }
  const std::int64_t other = finished_run(path(), started());
  Store store(path());
  store.remove(std::array{id});
  EXPECT_THROW(store.load(id), Error);
  int rows = 0;
  store.visit_steps(id, [&](const record::StepTimes&) { ++rows; });
  EXPECT_EQ(rows, 0);
  EXPECT_EQ(store.load(other).epochs.size(), 1u);
}

TEST_F(StoreTest, ARunWhoseRecordIsDamagedCanStillBeDeleted) {
  const std::int64_t id = finished_run(path(), started());
  Database(path(), Database::Access::kWrite).execute("UPDATE runs SET spec = '{broken'");
  Store store(path());
  try {
    store.load(id);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_NE(error.hint().find("lockstep runs delete 1"), std::string::npos);
  }
  store.require(std::array{id});
  store.remove(std::array{id});
  EXPECT_TRUE(store.runs().empty());
}

TEST_F(StoreTest, DeletesAllOrNone) {
  const std::int64_t id = finished_run(path(), started());
  Store store(path());
  EXPECT_THROW(store.remove(std::array<std::int64_t, 2>{id, 99}), Error);
  EXPECT_EQ(store.runs().size(), 1u);
}

TEST_F(StoreTest, RefusesToDeleteARunThatIsStillWritten) {
  RunWriter writer(path());
  writer.write(started());
  try {
    Store(path()).remove(std::array{writer.run_id()});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  }
  writer.write(epoch(1));
  EXPECT_EQ(Store(path()).load(writer.run_id()).epochs.size(), 1u);
}

TEST_F(StoreTest, NeverGivesAnIdTwice) {
  const std::int64_t first = finished_run(path(), started());
  Store(path()).remove(std::array{first});
  EXPECT_GT(finished_run(path(), started()), first);
}

TEST_F(StoreTest, CompactingGivesRoomBackAndKeepsTheRest) {
  const std::int64_t kept = finished_run(path(), started());
  std::int64_t big = 0;
  {
    RunWriter writer(path());
    writer.write(started());
    writer.write(steps(0, 5000));
    big = writer.run_id();
  }
  Store store(path());
  store.remove(std::array{big});
  store.compact();
  EXPECT_LT(std::filesystem::file_size(path()), 100'000u);
  EXPECT_EQ(store.load(kept).epochs.size(), 1u);
}

TEST_F(StoreTest, NamesTheNearestIdsForAnUnknownOne) {
  for (int i = 0; i < 5; ++i) finished_run(path(), started());
  try {
    Store(path()).load(7);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_NE(std::string(error.what()).find("no run 7"), std::string::npos);
    EXPECT_NE(error.hint().find("3, 4, 5"), std::string::npos) << error.hint();
  }
}

TEST_F(StoreTest, ReportsThatThereIsNoStoreAndMakesNone) {
  EXPECT_THROW(Store{path()}, Error);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(StoreTest, KeepsErrorsThatCameBeforeTheRunStarted) {
  RunWriter writer(path());
  writer.write(record::WorkerError{1, "data", "early", ""});
  EXPECT_THROW(writer.write(epoch(1)), Error);
  writer.write(started());
  EXPECT_EQ(Store(path()).load(writer.run_id()).errors.at(0).message, "early");
  EXPECT_THROW(writer.write(started()), Error);
}

TEST_F(StoreTest, ReadsRunsWhoseTextIsNotUtf8) {
  record::RunStarted start = started();
  start.machine.cpu = "\xff odd";
  const std::int64_t id = finished_run(path(), start);
  EXPECT_EQ(Store(path()).load(id).started.machine.cpu, "\xEF\xBF\xBD odd");
}

TEST_F(StoreTest, ReadersLeaveNoFileBesideTheStore) {
  const std::int64_t id = finished_run(path(), started());
  EXPECT_EQ(Store(path()).load(id).epochs.size(), 1u);
  for (const char* side : {"-wal", "-shm"}) {
    EXPECT_FALSE(std::filesystem::exists(path() + side)) << side;
  }
}

TEST_F(StoreTest, TakesFileNamesThatLookLikeUris) {
  const std::string odd = path("file:a?b#c%20.db");
  const std::int64_t id = finished_run(odd, started());
  EXPECT_EQ(Store(odd).load(id).epochs.size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(odd));
}

}  // namespace
}  // namespace lockstep::store
