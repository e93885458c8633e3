#include "lockstep/store/schema.h"

#include <array>

#include "lockstep/base/error.h"
#include "lockstep/store/store.h"
#include "lockstep/store/store_fixture.h"

namespace lockstep::store {
namespace {

using Access = Database::Access;

constexpr std::array<std::string_view, 1> kOld{"CREATE TABLE notes(text TEXT)"};
constexpr std::array<std::string_view, 2> kNew{kOld[0],
                                               "ALTER TABLE notes ADD COLUMN stars INTEGER"};
constexpr std::array<std::string_view, 3> kBroken{kNew[0], kNew[1], "CREATE TABLE x(y); NONSENSE"};

TEST_F(StoreTest, MigrationKeepsTheRowsOfAnOlderStore) {
  {
    Database database(path(), Access::kCreate);
    migrate(database, kOld);
    database.execute("INSERT INTO notes VALUES('kept')");
  }
  Database database(path(), Access::kWrite);
  migrate(database, kNew);
  EXPECT_EQ(database.integer("PRAGMA user_version"), 2);
  EXPECT_EQ(database.integer("SELECT count(*) FROM notes WHERE text = 'kept' AND stars IS NULL"),
            1);
}

TEST_F(StoreTest, FailedMigrationLeavesTheOlderStore) {
  Database database(path(), Access::kCreate);
  migrate(database, kNew);
  EXPECT_THROW(migrate(database, kBroken), Error);
  EXPECT_EQ(database.integer("PRAGMA user_version"), 2);
  EXPECT_EQ(database.integer("SELECT count(*) FROM sqlite_master WHERE name = 'x'"), 0);
}

TEST_F(StoreTest, RefusesANewerStoreAndLeavesItAsItIs) {
  {
    RunWriter writer(path());
    writer.write(started());
    Database database(path(), Access::kWrite);
    database.execute("PRAGMA user_version = 1000");
  }
  const std::string before = bytes_of(path());
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      if (attempt == 0) RunWriter{path()};
      if (attempt == 1) Store{path()};
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData);
      EXPECT_NE(std::string(error.what()).find("version 1000, newer than"), std::string::npos);
      EXPECT_FALSE(error.hint().empty());
    }
  }
  EXPECT_TRUE(bytes_of(path()) == before);
}

TEST_F(StoreTest, RefusesTheDatabaseOfAnotherProgramAndLeavesItAsItIs) {
  for (const char* sql : {"CREATE TABLE bookmarks(url TEXT)", "PRAGMA user_version = 7",
                          "PRAGMA application_id = 252006675"}) {
    const std::string other = path("other.db");
    std::filesystem::remove(other);
    Database(other, Access::kCreate).execute(sql);
    const std::string before = bytes_of(other);
    EXPECT_THROW(RunWriter{other}, Error) << sql;
    EXPECT_THROW(Store{other}, Error) << sql;
    EXPECT_TRUE(bytes_of(other) == before) << sql;
    EXPECT_FALSE(std::filesystem::exists(other + "-writers"));
  }
}

TEST_F(StoreTest, TakesAnEmptyFileForAnEmptyStore) {
  std::ofstream(path()).flush();
  EXPECT_TRUE(Store(path()).runs().empty());
  RunWriter writer(path());
  writer.write(started());
  EXPECT_EQ(Store(path()).runs().size(), 1u);
}

}  // namespace
}  // namespace lockstep::store
