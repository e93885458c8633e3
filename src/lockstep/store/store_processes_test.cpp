#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <set>

#include "lockstep/base/error.h"
#include "lockstep/store/store.h"
#include "lockstep/store/store_fixture.h"

namespace lockstep::store {
namespace {

TEST_F(StoreTest, ManyProcessesMakeAndFillOneStoreAtOnce) {
  constexpr int kProcesses = 6;
  constexpr int kRuns = 5;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        for (int r = 0; r < kRuns; ++r) {
          RunWriter writer(path());
          writer.write(started(i + 1));
          for (int s = 0; s < 5; ++s) writer.write(steps(s * 10, 10));
          writer.write(epoch(1));
          writer.write(record::RunEnded{});
        }
        ::_exit(0);
      } catch (const Error& error) {
        std::fputs(format_error(error).c_str(), stderr);
        ::_exit(1);
      }
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  Store store(path());
  std::set<std::int64_t> ids;
  for (const RunSummary& run : store.runs()) {
    ids.insert(run.id);
    EXPECT_EQ(run.state, RunState::kDone);
    EXPECT_EQ(store.load(run.id).steps, 100);
  }
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(kProcesses * kRuns));
}

TEST_F(StoreTest, KilledWriterKeepsEveryEventItHadWritten) {
  for (int round = 0; round < 10; ++round) {
    int told[2];
    ASSERT_EQ(::pipe(told), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      RunWriter writer(path());
      writer.write(started());
      for (int e = 1;; ++e) {
        writer.write(steps((e - 1) * 20, 20));
        writer.write(epoch(e));
        const char done = 'x';
        if (::write(told[1], &done, 1) != 1) ::_exit(1);
      }
    }
    ::close(told[1]);
    // Killed after a different number of epochs each time, at an arbitrary point.
    char done = 0;
    for (int e = 0; e <= round * 3; ++e) ASSERT_EQ(::read(told[0], &done, 1), 1);
    ::kill(child, SIGKILL);
    int heard = round * 3 + 1;
    while (::read(told[0], &done, 1) == 1) ++heard;
    ::close(told[0]);
    ::waitpid(child, nullptr, 0);

    Store store(path());
    const RunSummary summary = store.runs().back();
    EXPECT_EQ(summary.state, RunState::kKilled);
    const StoredRun run = store.load(summary.id);
    EXPECT_GE(static_cast<int>(run.epochs.size()), heard);
    EXPECT_GE(run.steps, std::int64_t{heard} * 40);
    EXPECT_EQ(run.steps % 40, 0);
  }
}

}  // namespace
}  // namespace lockstep::store
