#include "lockstep/comm/session.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <numeric>
#include <random>

#include "lockstep/comm/hierarchical.h"
#include "lockstep/comm/in_process_ranks.h"
#include "lockstep/comm/shared_memory.h"
#include "lockstep/comm/tcp.h"

namespace lockstep::comm {
namespace {

/// Values that show in which order they were added.
std::vector<float> values_of(int rank, std::size_t count) {
  std::mt19937 random(static_cast<unsigned>(rank) + 1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

std::vector<float> sum_in_rank_order(int size, std::size_t count) {
  std::vector<float> sum = values_of(0, count);
  for (int rank = 1; rank < size; ++rank) {
    const auto more = values_of(rank, count);
    for (std::size_t i = 0; i < count; ++i) sum[i] += more[i];
  }
  return sum;
}

/// Two buckets of odd sizes, summed twice.
std::vector<float> summed(Communicator& comm, std::size_t count) {
  const auto memory = comm.allocate(count);
  for (int round = 0; round < 2; ++round) {
    const auto mine = values_of(comm.rank(), count);
    std::copy(mine.begin(), mine.end(), memory.begin());
    const std::size_t cut = count / 32 * 16;
    comm.start_sum(memory.first(cut));
    comm.progress();
    comm.start_sum(memory.subspan(cut));
    comm.finish();
  }
  return {memory.begin(), memory.end()};
}

void check_small_collectives(Communicator& comm) {
  std::vector<int> order(static_cast<std::size_t>(comm.size()));
  std::iota(order.begin(), order.end(), 0);
  EXPECT_EQ(comm.gather_all(comm.rank()), order);
  for (int root = 0; root < comm.size(); ++root) {
    std::vector<int> value(1000, comm.rank() == root ? 7 + root : 0);
    comm.broadcast(std::as_writable_bytes(std::span(value)), root);
    EXPECT_EQ(value, std::vector<int>(1000, 7 + root));
  }
  comm.barrier();
}

/// Sums of memory that travels in 16 bits, but for its end; across two buckets, the second of which
/// holds the border.
void check_rounded_sums(Communicator& comm, Wire wire) {
  constexpr std::size_t kCount = 5'003, kExact = 21, kCut = 2'000;
  const auto memory = comm.allocate_rounded(kCount, wire, kExact);
  const auto mine = values_of(comm.rank(), kCount);
  std::copy(mine.begin(), mine.end(), memory.begin());
  comm.start_sum(memory.first(kCut));
  comm.start_sum(memory.subspan(kCut));
  comm.finish();
  const auto exact = sum_in_rank_order(comm.size(), kCount);
  // Every term is rounded, and so is their sum; values are below 1, on a grid far finer than that.
  const double unit = wire == Wire::kHalf ? 0x1p-11 : 0x1p-8;
  const double bound = 2 * unit * comm.size();
  std::size_t off = 0;
  for (std::size_t i = 0; i < kCount - kExact; ++i) {
    ASSERT_NEAR(memory[i], exact[i], bound) << i;
    off += memory[i] != exact[i] ? 1 : 0;
  }
  EXPECT_GT(off, kCount / 2) << "nothing was rounded";
  for (std::size_t i = kCount - kExact; i < kCount; ++i) ASSERT_NEAR(memory[i], exact[i], 2e-6);
  const auto all = comm.gather_all<float>(std::span<const float>(memory));
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], memory[i % kCount]) << i;
}

class TcpRanks : public ::testing::TestWithParam<int> {};

TEST_P(TcpRanks, AddUpInRankOrderToTheBit) {
  const int size = GetParam();
  for (const std::size_t count : {1UL, 17UL, 5'003UL, 300'001UL}) {
    const auto expected = sum_in_rank_order(size, count);
    on_all_ranks(size, fresh_job(), [&](Session& session) {
      const auto comm = session.make("tcp");
      EXPECT_EQ(comm->backend(), "tcp");
      EXPECT_EQ(summed(*comm, count), expected) << count;
      check_small_collectives(*comm);
    });
  }
}

TEST_P(TcpRanks, RoundWhatTravelsWhenAskedToAndAgreeOnTheBits) {
  for (const Wire wire : {Wire::kHalf, Wire::kBrain}) {
    on_all_ranks(GetParam(), fresh_job(),
                 [&](Session& session) { check_rounded_sums(*session.make("tcp"), wire); });
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, TcpRanks, ::testing::Values(2, 3, 4, 5));

TEST(Tcp, MovesMoreThanFitsIntoOneRound) {
  constexpr std::size_t kFloats = 1'300'000;  // more than one slice of four ranks
  const auto expected = sum_in_rank_order(4, kFloats);
  on_all_ranks(4, fresh_job(), [&](Session& session) {
    const auto comm = session.make("tcp");
    EXPECT_EQ(summed(*comm, kFloats), expected);
    for (int root = 0; root < comm->size(); ++root) {
      std::vector<int> values(300'000, comm->rank() == root ? 7 + root : 0);
      comm->broadcast(std::as_writable_bytes(std::span(values)), root);
      ASSERT_EQ(values, std::vector<int>(values.size(), 7 + root));
      const std::vector<int> mine(100'000, comm->rank());
      const auto all = comm->gather_all<int>(std::span<const int>(mine));
      for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(all[i], static_cast<int>(i / mine.size()));
      }
      const auto memory = comm->allocate(100'000);
      std::fill(memory.begin(), memory.end(), 1.0F);
      comm->sum_to_root(memory, root);
      ASSERT_EQ(memory[99'999], comm->rank() == root ? 4.0F : 1.0F);
    }
  });
}

TEST(Session, ChoosesSharedMemoryWithinAHost) {
  on_all_ranks(3, fresh_job(), [&](Session& session) {
    EXPECT_EQ(session.hosts().hosts(), 1);
    EXPECT_EQ(session.resolve("auto"), "shm");
    EXPECT_EQ(session.resolve("gloo"), "gloo");
    const auto comm = session.make("shm");
    EXPECT_EQ(summed(*comm, 5'003), sum_in_rank_order(3, 5'003));
  });
}

/// Ranks 0 and 2 on one host, 1, 3 and 4 on another.
TEST(Hierarchical, AddsUpInsideHostsFirst) {
  const HostGroups hosts = group_by_host({"a", "b", "a", "b", "b"});
  ASSERT_EQ(hosts.hosts(), 2);
  const std::size_t count = 5'003;
  const auto expected = sum_in_rank_order(5, count);
  std::vector<std::vector<float>> results(5);
  const std::string job = fresh_job();
  // Sessions of threads are all on one host, so each pretended host gets a session of its own.
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 5; ++rank) {
    threads.emplace_back([&, rank] {
      Session world(test_session(rank, 5, job));
      const auto& here = hosts.neighbours(rank);
      const int local_rank = hosts.local_rank(rank);
      Session host(test_session(local_rank, static_cast<int>(here.size()),
                                job + std::to_string(here.front())));
      std::unique_ptr<Communicator> across;
      const auto leaders = hosts.leaders();
      if (local_rank == 0) {
        TcpMesh::Options mesh;
        mesh.rank = hosts.host_of[static_cast<std::size_t>(rank)];
        mesh.size = 2;
        mesh.world_ranks = leaders;
        mesh.address = "127.0.0.1";
        mesh.secret = sha256(job);
        mesh.timeout = Seconds(20);
        across = make_tcp(mesh, world.membership());
      }
      const auto comm = make_hierarchical(rank, hosts, host.make("shm"), std::move(across));
      results[static_cast<std::size_t>(rank)] = summed(*comm, count);
      check_small_collectives(*comm);
      check_rounded_sums(*comm, Wire::kHalf);
      comm->barrier();
      host.membership().leave();
      world.membership().leave();
    });
  }
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(results[0][i], expected[i], 1e-5);
  for (const auto& result : results) EXPECT_EQ(result, results[0]);  // every rank has the same bits
}

TEST(Session, NamesARankThatNeverComes) {
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

TEST(Session, TellsAllRanksWhyOneFailed) {
  const std::string job = fresh_job();
  std::vector<std::thread> threads;
  std::atomic<int> told{0};
  std::atomic<int> reported{-1};
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      SessionOptions options = test_session(rank, 3, job);
      options.on_failure = [&](const RankFailure& failure) { reported = failure.rank; };
      Session session(options);
      const auto comm = session.make("tcp");
      if (rank == 2) {
        session.membership().report(Error(ErrorKind::kData, "an image is broken"));
        return;
      }
      const auto memory = comm->allocate(1000);
      try {
        comm->start_sum(memory);
        comm->finish();
        ADD_FAILURE() << "rank 2 took no part";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kPeer);
        told += std::string(error.what()) == "an image is broken";
      }
      session.membership().report(Error(ErrorKind::kPeer, "because of rank 2"));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(told, 2);
  EXPECT_EQ(reported, 2);
}

TEST(Session, ADeadRankIsFoundAndNamed) {
  const std::string job = fresh_job();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      Session session(test_session(rank, 3, job));
      const auto comm = session.make("tcp");
      if (rank == 1) return;  // without a word, as a killed process
      const auto memory = comm->allocate(1000);
      try {
        comm->start_sum(memory);
        comm->finish();
        ADD_FAILURE() << "rank 1 is gone";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kPeer);
        EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
      }
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
