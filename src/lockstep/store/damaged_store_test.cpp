#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"
#include "lockstep/store/schema.h"
#include "lockstep/store/store.h"
#include "lockstep/store/store_fixture.h"

namespace lockstep::store {
namespace {

/// Runs `body` in a child process and gives its exit code; -1 when it died of a signal.
template <class Body>
int in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Opens, lists and loads. Returns whether that failed with kData, the only error allowed.
bool refused(const std::string& path) {
  try {
    Store store(path);
    for (const RunSummary& run : store.runs()) {
      store.load(run.id);
      store.visit_steps(run.id, [](const record::StepTimes&) {});
    }
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData) << error.what();
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    return true;
  }
}

std::string whole_store(const std::string& path) {
  {
    RunWriter writer(path);
    writer.write(started());
    writer.write(steps(0, 400));
    writer.write(epoch(1));
  }
  Store(path).compact();
  return path;
}

TEST_F(StoreTest, RefusesAFileCutOffAnywhere) {
  const std::string whole = bytes_of(whole_store(path()));
  Rng rng(11);
  const std::string cut = path("cut.db");
  for (int round = 0; round < 60; ++round) {
    const std::size_t length =
        round < 20 ? 1 + static_cast<std::size_t>(round) * 9 : 1 + rng.below(whole.size() - 1);
    const std::string part = whole.substr(0, length);
    std::ofstream(cut, std::ios::binary | std::ios::trunc) << part;
    EXPECT_TRUE(refused(cut)) << length;
    EXPECT_THROW(RunWriter{cut}, Error) << length;
    EXPECT_TRUE(bytes_of(cut) == part) << length;
  }
}

TEST_F(StoreTest, OverwrittenBytesGiveAnErrorOrOtherValuesButNeverACrash) {
  const std::string whole = bytes_of(whole_store(path()));
  Rng rng(12);
  const std::string broken = path("broken.db");
  for (int round = 0; round < 150; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 40; ++i) bytes[rng.below(bytes.size())] = static_cast<char>(rng.next());
    std::ofstream(broken, std::ios::binary | std::ios::trunc) << bytes;
    refused(broken);
  }
}

TEST_F(StoreTest, RefusesTextAndLeavesItAsItIs) {
  const std::string text = "model,dataset\nresnet,cifar10\n" + std::string(200, 'x');
  std::ofstream(path()) << text;
  EXPECT_TRUE(refused(path()));
  EXPECT_THROW(RunWriter{path()}, Error);
  EXPECT_EQ(bytes_of(path()), text);
}

TEST_F(StoreTest, ReportsWhyAStoreCannotBeMade) {
  for (const std::string& bad : {path("no/such/folder.db"), folder_}) {
    try {
      RunWriter writer(bad);
      writer.write(started());
      FAIL() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData) << error.what();
      EXPECT_NE(std::string(error.what()).find(bad), std::string::npos) << error.what();
      EXPECT_FALSE(error.hint().empty());
    }
  }
}

TEST_F(StoreTest, FullDiskIsAClearErrorAndLosesNothing) {
  const int code = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    RunWriter writer(path());
    writer.write(started());
    writer.write(epoch(1));
    const rlimit limit{300'000, 300'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      for (int i = 0; i < 1000; ++i) writer.write(steps(i * 100, 100));
    } catch (const Error& error) {
      return error.kind() == ErrorKind::kData && !error.hint().empty() ? 0 : 2;
    }
    return 3;
  });
  EXPECT_EQ(code, 0);
  const StoredRun run = Store(path()).load(1);
  EXPECT_EQ(run.epochs.size(), 1u);
  EXPECT_GT(run.steps, 0);
  EXPECT_EQ(run.steps % 200, 0) << "a block is kept whole or not at all";
}

TEST_F(StoreTest, ReportsThatTheDiskIsFull) {
  Database database(path(), Database::Access::kCreate);
  migrate(database);
  database.execute("CREATE TABLE filler(x); PRAGMA max_page_count = 60");
  try {
    for (int i = 0; i < 1000; ++i) database.execute("INSERT INTO filler VALUES(zeroblob(4000))");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_NE(std::string(error.what()).find("the disk is full"), std::string::npos);
  }
}

/// Permissions do not bind root, so as root the child becomes nobody first.
void drop_rights() {
  if (::geteuid() == 0 &&
      (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0)) {
    ::_exit(9);
  }
}

TEST_F(StoreTest, ReadOnlyStoreCanBeReadAndReportsWhyItCannotBeWritten) {
  whole_store(path());
  for (const char* side : {"-wal", "-shm"}) std::filesystem::remove(path() + side);
  ::chmod(path().c_str(), 0444);
  ::chmod(folder_.c_str(), 0555);
  const int code = in_child([&] {
    drop_rights();
    if (refused(path())) return 1;
    try {
      RunWriter writer(path());
      writer.write(started());
      return 2;
    } catch (const Error& error) {
      return error.kind() == ErrorKind::kData ? 0 : 3;
    }
  });
  ::chmod(folder_.c_str(), 0755);
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace lockstep::store
