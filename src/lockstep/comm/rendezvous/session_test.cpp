#include "lockstep/comm/rendezvous/session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "lockstep/comm/backends/shm/shared_memory.h"
#include "lockstep/comm/rendezvous/in_process_ranks.h"

namespace lockstep::comm {
namespace {

/// Waits for a value that no rank stores, and returns why that ended.
std::string cause_of_loss(Session& session) {
  try {
    session.membership().get("nothing", Seconds(20));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kPeer);
    return error.what();
  }
  return "the run was not lost";
}

TEST(Session, JoinsTheRanksOfAHostInSharedMemoryMoreThanOnce) {
  on_all_ranks(3, fresh_job(), [&](Session& session) {
    EXPECT_EQ(session.hosts().hosts(), 1);
    for (int round = 0; round < 2; ++round) {
      const auto comm = make_host_memory(session);
      const auto memory = comm->allocate(100);
      std::fill(memory.begin(), memory.end(), static_cast<float>(comm->rank() + 1));
      comm->start_sum(memory);
      comm->finish();
      EXPECT_EQ(memory[99], 6.0F);
      comm->barrier();
    }
  });
}

TEST(Session, NumbersTheMembersOfAGroup) {
  on_all_ranks(3, fresh_job(), [&](Session& session) {
    const int rank = session.options().place.rank;
    const Context all = session.context();
    const Context some = session.context({0, 2});
    EXPECT_EQ(all.rank, rank);
    EXPECT_EQ(all.size, 3);
    EXPECT_EQ(some.rank, rank == 0 ? 0 : rank == 2 ? 1 : -1);
    EXPECT_EQ(some.size, 2);
    EXPECT_EQ(some.world_rank(1), 2);
    EXPECT_NE(all.group, some.group);
  });
}

/// One answer for each question would arrive late, as the value of a later question.
TEST(Session, AnswersOnceForAKeyThatWasAskedForInVain) {
  on_all_ranks(2, fresh_job(), [&](Session& session) {
    Membership& membership = session.membership();
    const Seconds enough(20);
    if (session.options().place.rank == 1) {
      membership.get("asked", enough);
      for (int i = 0; i < 10; ++i) membership.get("clock", enough);  // the last question arrives
      membership.put("late", "first");
      membership.get("read", enough);
      membership.put("late", "second");
      membership.put("again", "");
      return;
    }
    for (int i = 0; i < 3; ++i) EXPECT_THROW(membership.get("late", Seconds(0.01)), Error);
    membership.put("asked", "");
    EXPECT_EQ(membership.get("late", enough), "first");
    membership.put("read", "");
    membership.get("again", enough);
    EXPECT_EQ(membership.get("late", enough), "second");
  });
}

TEST(Session, NamesARankThatNeverJoins) {
  const std::string job = fresh_job();
  std::vector<std::thread> threads;
  std::atomic<int> named{0};
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      SessionOptions options = test_session(rank, 3, job);
      options.timeout = Seconds(1);
      try {
        Session session(options);
        ADD_FAILURE() << "a rank is missing";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kPeer);
        named += std::string(error.what()).find("rank 2") != std::string::npos;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_GE(named, 1);
}

TEST(Session, SendsTheCauseOfAFailureToAllRanks) {
  const std::string job = fresh_job();
  std::vector<std::thread> threads;
  std::atomic<int> told{0};
  std::atomic<int> reported{-1};
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      SessionOptions options = test_session(rank, 3, job);
      options.on_failure = [&](const RankFailure& failure) { reported = failure.rank; };
      Session session(options);
      make_host_memory(session)->barrier();  // all ranks have joined
      if (rank == 2) {
        session.membership().report(Error(ErrorKind::kData, "an image is broken"));
        return;
      }
      const std::string cause = cause_of_loss(session);
      told += cause == "an image is broken";
      session.membership().report(Error(ErrorKind::kPeer, "because of rank 2"));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(told, 2);
  EXPECT_EQ(reported, 2);
}

TEST(Session, NamesADeadRank) {
  const std::string job = fresh_job();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      Session session(test_session(rank, 3, job));
      make_host_memory(session)->barrier();  // all ranks have joined
      if (rank == 1) return;                 // without a report, as a killed process
      const std::string cause = cause_of_loss(session);
      EXPECT_NE(cause.find("rank 1"), std::string::npos) << cause;
      session.membership().report(Error(ErrorKind::kPeer, "because of rank 1"));
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(Session, RanksOfOneHostShareAClock) {
  on_all_ranks(2, fresh_job(), [](Session& session) {
    // Threads of one process: any offset is an error of the estimate, less than a round trip.
    EXPECT_LT(std::abs(static_cast<double>(session.membership().clock_offset())), 1e9);
  });
}

TEST(HostGroups, AreNumberedByTheirLowestRank) {
  const HostGroups hosts = group_by_host({"b", "a", "b", "c"});
  EXPECT_EQ(hosts.host_of, (std::vector<int>{0, 1, 0, 2}));
  EXPECT_EQ(hosts.leaders(), (std::vector<int>{0, 1, 3}));
  EXPECT_EQ(hosts.local_rank(2), 1);
}

}  // namespace
}  // namespace lockstep::comm
