#include "lockstep/store/imports.h"

#include "lockstep/base/error.h"
#include "lockstep/store/database.h"
#include "lockstep/store/store_fixture.h"

namespace lockstep::store {
namespace {

ImportedRecord record_of(const std::string& digest, const std::string& part = "") {
  ImportedRecord run;
  run.source = {digest, part, "logs/a.log", "keras", R"({"missing": []})"};
  run.label.study = "resnet";
  run.started = started(4, 32, "keras");
  run.epochs = {epoch(1), epoch(2)};
  run.steps = steps(0, 3);
  run.ended.status = record::RunStatus::kDone;
  run.ended.total_s = 12.5;
  record::Measurement row;
  row.model = "resnet";
  row.workers = 4;
  row.metric = "epoch_time";
  row.value = 4;
  row.unit = "s";
  row.epoch = 1;
  run.measurements = {row};
  return run;
}

TEST_F(StoreTest, ImportedRunIsARunLikeOthers) {
  const ImportedRecord run = record_of("d1");
  const std::vector<AddedImport> added = add_imports(path(), std::span(&run, 1));
  ASSERT_EQ(added.size(), 1u);
  EXPECT_TRUE(added[0].fresh);
  Store store(path());
  const StoredRun stored = store.load(added[0].run);
  EXPECT_EQ(stored.summary.state, RunState::kDone);
  EXPECT_EQ(stored.summary.label.study, "resnet");
  EXPECT_EQ(stored.epochs.size(), 2u);
  EXPECT_EQ(stored.steps, 6);
  EXPECT_EQ(stored.ended->total_s, 12.5);
  EXPECT_EQ(import_source(path(), added[0].run)->format, "keras");
}

TEST_F(StoreTest, ImportingTwiceAddsNothing) {
  const std::vector<ImportedRecord> runs{record_of("d1", "1"), record_of("d1", "2")};
  const std::vector<AddedImport> first = add_imports(path(), runs);
  const std::vector<AddedImport> second = add_imports(path(), runs);
  EXPECT_EQ(second[0].run, first[0].run);
  EXPECT_EQ(second[1].run, first[1].run);
  EXPECT_FALSE(second[0].fresh);
  EXPECT_EQ(Store(path()).runs().size(), 2u);
}

TEST_F(StoreTest, RunOfNoStudyMovesIntoTheOneItIsImportedFor) {
  ImportedRecord run = record_of("d1");
  run.label.study = "";
  add_imports(path(), std::span(&run, 1));
  run.label.study = "resnet";
  const AddedImport moved = add_imports(path(), std::span(&run, 1)).at(0);
  EXPECT_TRUE(moved.moved);
  EXPECT_FALSE(moved.fresh);
  ASSERT_EQ(Store(path()).runs().size(), 1u);
  EXPECT_EQ(Store(path()).runs()[0].label.study, "resnet");
  run.label.study = "other";
  const AddedImport stays = add_imports(path(), std::span(&run, 1)).at(0);
  EXPECT_EQ(stays.other_study, "resnet");
  EXPECT_EQ(Store(path()).runs()[0].label.study, "resnet");
}

TEST_F(StoreTest, ReplacingAnImportLeavesOthersAlone) {
  const std::vector<ImportedRecord> runs{record_of("d1"), record_of("d2")};
  const std::vector<AddedImport> first = add_imports(path(), runs);
  const std::vector<AddedImport> again = add_imports(path(), std::span(runs).first(1), true);
  EXPECT_TRUE(again[0].fresh);
  EXPECT_EQ(Store(path()).runs().size(), 2u);
  EXPECT_TRUE(import_source(path(), first[1].run));
  EXPECT_FALSE(import_source(path(), first[0].run));
}

TEST_F(StoreTest, MeasurementsComeBackAsTheyWere) {
  const ImportedRecord run = record_of("d1");
  const std::vector<AddedImport> added = add_imports(path(), std::span(&run, 1));
  const std::vector<record::Measurement> rows = Store(path()).imported_measurements();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].model, "resnet");
  EXPECT_EQ(rows[0].workers, 4);
  EXPECT_FALSE(rows[0].global_batch);
  EXPECT_EQ(rows[0].value, 4);
  EXPECT_EQ(rows[0].epoch, 1);
  EXPECT_EQ(rows[0].run, std::to_string(added[0].run));
  const std::int64_t other[] = {added[0].run + 1};
  EXPECT_TRUE(Store(path()).imported_measurements(other).empty());
}

TEST_F(StoreTest, FailedImportLeavesTheStoreAsItWas) {
  const ImportedRecord good = record_of("d1");
  add_imports(path(), std::span(&good, 1));
  // The second of two runs cannot be written.
  std::vector<ImportedRecord> bad{record_of("d2"), record_of("d3")};
  bad[1].epochs[0].epoch = 7;
  {
    Database lock(path(), Database::Access::kWrite);
    lock.execute(
        "CREATE TRIGGER no_seventh BEFORE INSERT ON epochs WHEN NEW.epoch = 7"
        " BEGIN SELECT RAISE(ABORT, 'no'); END");
  }
  EXPECT_THROW(add_imports(path(), bad), Error);
  EXPECT_EQ(Store(path()).runs().size(), 1u);
}

TEST_F(StoreTest, DeletingAnImportedRunForgetsItsFile) {
  const ImportedRecord run = record_of("d1");
  const std::vector<AddedImport> first = add_imports(path(), std::span(&run, 1));
  const std::int64_t id[] = {first[0].run};
  Store(path()).remove(id);
  EXPECT_TRUE(Store(path()).imported_measurements().empty());
  EXPECT_TRUE(add_imports(path(), std::span(&run, 1))[0].fresh);
}

}  // namespace
}  // namespace lockstep::store
