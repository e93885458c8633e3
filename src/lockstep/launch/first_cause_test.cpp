#include "lockstep/launch/first_cause.h"

#include <gtest/gtest.h>

#include <csignal>

namespace lockstep::launch {
namespace {

std::vector<WorkerOutcome> running(int count) {
  std::vector<WorkerOutcome> workers(static_cast<std::size_t>(count));
  for (int rank = 0; rank < count; ++rank) workers[static_cast<std::size_t>(rank)].rank = rank;
  return workers;
}

void complain(WorkerOutcome& worker, const std::string& kind, Nanoseconds at) {
  worker.error = record::WorkerError{worker.rank, kind, "what " + kind, "do this"};
  worker.error_at = at;
}

void end(WorkerOutcome& worker, int code, int signal, Nanoseconds at) {
  worker.status = ExitStatus{code, signal};
  worker.ended_at = at;
}

TEST(FirstCause, IsAbsentWhileAllRunAndAfterAllEndedWell) {
  auto workers = running(2);
  EXPECT_FALSE(first_cause(workers, false));
  end(workers[1], 0, 0, 5);
  EXPECT_FALSE(first_cause(workers, false));
  workers[0].closed_record = true;
  end(workers[0], 0, 0, 6);
  EXPECT_FALSE(first_cause(workers, false));
}

TEST(FirstCause, NamesTheSignalThatKilledAWorker) {
  auto workers = running(2);
  end(workers[1], 0, SIGKILL, 7);
  const auto failure = first_cause(workers, false);
  ASSERT_TRUE(failure);
  EXPECT_STREQ(failure->error.what(), "worker 1 (rank 1 of 2) was killed by signal 9 (Killed)");
  EXPECT_EQ(exit_code(failure->error.kind()), 5);
}

TEST(FirstCause, PrefersALateCauseToAnEarlyComplaintAboutAPeer) {
  auto workers = running(3);
  complain(workers[0], "peer", 1);
  ASSERT_TRUE(first_cause(workers, false)->symptom);
  end(workers[2], 0, SIGSEGV, 9);
  const auto failure = first_cause(workers, false);
  EXPECT_FALSE(failure->symptom);
  EXPECT_EQ(failure->rank, 2);
}

TEST(FirstCause, TakesTheEarliestOfSeveralCauses) {
  auto workers = running(3);
  complain(workers[2], "worker", 4);
  complain(workers[1], "worker", 3);
  end(workers[0], 1, 0, 8);
  EXPECT_EQ(first_cause(workers, false)->rank, 1);
}

TEST(FirstCause, KeepsTheExitCodeOfErrorsThatConcernTheUsersInput) {
  for (const auto& [kind, code] : std::vector<std::pair<std::string, int>>{{"usage", 2},
                                                                           {"environment", 3},
                                                                           {"data", 4},
                                                                           {"internal", 5},
                                                                           {"worker", 5},
                                                                           {"odd", 5}}) {
    auto workers = running(2);
    complain(workers[1], kind, 1);
    EXPECT_EQ(exit_code(first_cause(workers, false)->error.kind()), code) << kind;
  }
}

TEST(FirstCause, NamesAWorkerThatLeftEarlyAsTheCauseOfPeerErrors) {
  auto workers = running(2);
  end(workers[1], 0, 0, 3);
  complain(workers[0], "peer", 5);
  const auto failure = first_cause(workers, false);
  EXPECT_EQ(failure->rank, 1);
  EXPECT_FALSE(failure->symptom);
}

TEST(FirstCause, CallsAnEndOfRankZeroWithoutRunEndedAFailure) {
  auto workers = running(1);
  end(workers[0], 0, 0, 3);
  ASSERT_TRUE(first_cause(workers, false));
  EXPECT_NE(std::string(first_cause(workers, false)->error.what()).find("without completing"),
            std::string::npos);
}

TEST(FirstCause, IgnoresWhatWorkersDidAfterTheyWereAskedToEnd) {
  auto workers = running(1);
  end(workers[0], 0, SIGTERM, 3);
  EXPECT_TRUE(first_cause(workers, false));
  workers[0].told_to_end = true;
  EXPECT_FALSE(first_cause(workers, false));
}

TEST(FirstCause, DoesNotCallAnEndOnRequestAFailure) {
  auto workers = running(2);
  end(workers[0], 0, SIGINT, 3);
  end(workers[1], 130, 0, 3);
  EXPECT_TRUE(first_cause(workers, false));
  EXPECT_FALSE(first_cause(workers, true));
  end(workers[1], 0, SIGSEGV, 3);
  EXPECT_TRUE(first_cause(workers, true));
}

TEST(FirstCause, CallsALauncherByItsNameAndLetsItEndOnRequestAsItLikes) {
  auto workers = running(1);
  workers[0].title = "srun";
  end(workers[0], 1, 0, 3);
  const auto failure = first_cause(workers, false);
  ASSERT_TRUE(failure);
  EXPECT_STREQ(failure->error.what(), "srun ended with exit code 1");
  EXPECT_FALSE(first_cause(workers, true));
}

TEST(FirstCause, RecognisesAFailedAllocationInAnyWording) {
  for (const bool told : {true, false}) {
    auto workers = running(2);
    if (told) {
      complain(workers[1], "internal", 3);
      workers[1].error->message = "DefaultCPUAllocator: can't allocate memory: you tried ...";
    } else {
      workers[1].last_lines = {"terminate called after throwing", "  what():  std::bad_alloc"};
      end(workers[1], 0, SIGABRT, 3);
    }
    const auto failure = first_cause(workers, false);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->error.kind(), ErrorKind::kMemory);
    EXPECT_STREQ(failure->error.what(), "worker 1 (rank 1 of 2) failed: out of memory");
  }
}

}  // namespace
}  // namespace lockstep::launch
