#include "lockstep/comm/backends/shm/shared_memory.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <functional>
#include <thread>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"
#include "lockstep/comm/wire/shares.h"

namespace lockstep::comm {
namespace {

class Segment {
 public:
  Segment() : fd_(::memfd_create("lockstep-test", MFD_CLOEXEC)) {}
  ~Segment() { ::close(fd_); }
  int fd() const { return fd_; }

 private:
  int fd_;
};

std::unique_ptr<Communicator> join(const Segment& segment, int rank, int size,
                                   double timeout_s = 30) {
  Context context;
  context.rank = rank;
  context.size = size;
  context.timeout = Seconds(timeout_s);
  context.spin = Seconds(0);
  return make_shared_memory(context, segment.fd());
}

/// Runs `body` as every rank, each on a thread.
void with_all_ranks(int size, const std::function<void(Communicator&)>& body) {
  Segment segment;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      const auto comm = join(segment, rank, size);
      body(*comm);
    });
  }
  for (auto& thread : threads) thread.join();
}

/// The value of element i on one rank; awkward enough that the order of additions shows.
float element(int rank, std::size_t i, int round) {
  Rng rng(static_cast<std::uint64_t>(rank), i, static_cast<std::uint64_t>(round));
  return static_cast<float>(rng.normal() * std::pow(10.0, static_cast<double>(rng.below(6))));
}

class SharedMemorySum : public ::testing::TestWithParam<int> {};

TEST_P(SharedMemorySum, GivesEveryRankTheBitsOfTheSerialSum) {
  const int size = GetParam();
  for (const std::size_t count : {std::size_t{1}, std::size_t{15}, std::size_t{16}, std::size_t{17},
                                  std::size_t{1000}, std::size_t{70'001}}) {
    with_all_ranks(size, [&](Communicator& comm) {
      const auto memory = comm.allocate(count);
      for (int round = 0; round < 3; ++round) {
        for (std::size_t i = 0; i < count; ++i) memory[i] = element(comm.rank(), i, round);
        comm.start_sum(memory);
        comm.finish();
        for (std::size_t i = 0; i < count; ++i) {
          float expected = element(0, i, round);
          for (int r = 1; r < size; ++r) expected += element(r, i, round);
          ASSERT_EQ(memory[i], expected) << "element " << i << " of " << count;
        }
      }
    });
  }
}

TEST_P(SharedMemorySum, CompletesSeveralBucketsStartedBeforeFinish) {
  with_all_ranks(GetParam(), [&](Communicator& comm) {
    const auto memory = comm.allocate(1000);
    for (int round = 0; round < 200; ++round) {
      for (std::size_t i = 0; i < 1000; ++i) memory[i] = static_cast<float>(comm.rank() + round);
      for (std::size_t begin = 0; begin < 1000; begin += 100) {
        comm.start_sum(memory.subspan(begin, 100));
        comm.progress();
      }
      comm.finish();
      const int n = comm.size();
      const auto expected = static_cast<float>(n * (n - 1) / 2 + n * round);
      for (float value : memory) ASSERT_EQ(value, expected);
    }
  });
}

TEST_P(SharedMemorySum, BroadcastsAndGathersMoreThanTheScratchBuffer) {
  with_all_ranks(GetParam(), [&](Communicator& comm) {
    std::vector<std::int32_t> values(700'000, comm.rank() == 1 ? 42 : 0);
    comm.broadcast(std::as_writable_bytes(std::span(values)), 1);
    EXPECT_EQ(values.front(), 42);
    EXPECT_EQ(values.back(), 42);

    std::vector<std::int32_t> own(300'000, comm.rank());
    const auto all = comm.gather_all<std::int32_t>(std::span<const std::int32_t>(own));
    for (int r = 0; r < comm.size(); ++r) {
      EXPECT_EQ(all[static_cast<std::size_t>(r) * own.size()], r);
      EXPECT_EQ(all[static_cast<std::size_t>(r + 1) * own.size() - 1], r);
    }
  });
}

TEST_P(SharedMemorySum, RoundsAllButTheExactPartWhenAskedTo) {
  constexpr std::size_t kCount = 5000, kExact = 21, kBucket = 1600;
  for (const Wire wire : {Wire::kHalf, Wire::kBrain}) {
    with_all_ranks(GetParam(), [&](Communicator& comm) {
      const auto memory = comm.allocate_rounded(kCount, wire, kExact);
      for (int round = 0; round < 3; ++round) {
        for (std::size_t i = 0; i < kCount; ++i) memory[i] = element(comm.rank(), i, round);
        for (std::size_t begin = 0; begin < kCount; begin += kBucket) {
          comm.start_sum(memory.subspan(begin, std::min(kBucket, kCount - begin)));
        }
        comm.finish();
        std::size_t off = 0;
        for (std::size_t i = 0; i < kCount; ++i) {
          float sum = 0;
          double sizes = 0;
          for (int r = 0; r < comm.size(); ++r) {
            sum = r == 0 ? element(0, i, round) : sum + element(r, i, round);
            sizes += std::abs(element(r, i, round));
          }
          if (i + kExact >= kCount) {
            ASSERT_EQ(memory[i], sum) << i;
            continue;
          }
          // One rounding of every term; and the halves' grid, 2^-40 of the largest, 1e6.
          const double unit = wire == Wire::kHalf ? 0x1p-11 : 0x1p-8;
          ASSERT_NEAR(memory[i], sum, unit * sizes + 1e-5) << i;
          off += memory[i] != sum ? 1 : 0;
        }
        EXPECT_GT(off, kCount / 2) << "nothing was rounded";
        const auto all = comm.gather_all<float>(std::span<const float>(memory));
        for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], memory[i % kCount]);
      }
    });
  }
}

/// Owners of floats by their place, as the ranks of a run divide them.
int owner_of(std::size_t i, int ranks) {
  return static_cast<int>(i / kShareBlock % static_cast<std::size_t>(ranks));
}

TEST_P(SharedMemorySum, GivesEachRankTheSerialSumsOfItsSharesAlone) {
  constexpr std::size_t kCount = 70'001, kBegin = 48;
  for (const Wire wire : {Wire::kFloat, Wire::kBrain}) {
    with_all_ranks(GetParam(), [&](Communicator& comm) {
      const auto all = comm.allocate_rounded(kCount, wire, 0);
      const auto own = comm.allocate_rounded(kCount, wire, 0);
      for (int round = 0; round < 5; ++round) {
        for (std::size_t i = 0; i < kCount; ++i) {
          all[i] = own[i] = element(comm.rank(), i, round);
        }
        comm.start_sum(all.subspan(kBegin));
        comm.start_sum_of_shares(own.subspan(kBegin));
        comm.finish();
        for (std::size_t i = 0; i < kCount; ++i) {
          const bool mine = i >= kBegin && owner_of(i, comm.size()) == comm.rank();
          ASSERT_EQ(own[i], mine ? all[i] : element(comm.rank(), i, round)) << i;
        }
        comm.barrier();
      }
    });
  }
}

TEST_P(SharedMemorySum, SharesDivideAnyPartOfTheMemory) {
  for (const std::size_t begin : {std::size_t{0}, kShareBlock - 16, 5 * kShareBlock}) {
    for (const std::size_t count : {std::size_t{1}, kShareBlock + 1, 20 * kShareBlock + 7}) {
      std::vector<int> owner(begin + count, -1);
      for (int rank = 0; rank < GetParam(); ++rank) {
        Shares{rank, GetParam()}.each(begin, begin + count, [&](std::size_t from, std::size_t to) {
          for (std::size_t i = from; i < to; ++i) {
            ASSERT_EQ(owner[i], -1);
            owner[i] = rank;
          }
        });
      }
      for (std::size_t i = begin; i < owner.size(); ++i) {
        ASSERT_EQ(owner[i], owner_of(i, GetParam()));
      }
    }
  }
}

TEST_P(SharedMemorySum, OneRankReadsWhatAnotherWroteToCommonMemory) {
  with_all_ranks(GetParam(), [](Communicator& comm) {
    // More than a page per rank, and no multiple of it.
    const auto common = comm.allocate_common(10'001);
    ASSERT_EQ(common.size(), 10'001U);
    for (int round = 0; round < 20; ++round) {
      for (std::size_t i = 0; i < common.size(); ++i) {
        if (static_cast<int>(i) % comm.size() == comm.rank()) {
          common[i] = static_cast<float>(round) + static_cast<float>(i);
        }
      }
      comm.barrier();
      for (std::size_t i = 0; i < common.size(); ++i) {
        ASSERT_EQ(common[i], static_cast<float>(round) + static_cast<float>(i));
      }
      comm.barrier();
    }
  });
}

/// One round per message: what is read must not be overwritten by the next.
TEST_P(SharedMemorySum, GathersInQuickSuccession) {
  with_all_ranks(GetParam(), [](Communicator& comm) {
    for (int round = 0; round < 2000; ++round) {
      const auto all = comm.gather_all(round * 10 + comm.rank());
      for (int r = 0; r < comm.size(); ++r) {
        ASSERT_EQ(all[static_cast<std::size_t>(r)], round * 10 + r);
      }
      int from_root = comm.rank() == round % comm.size() ? round : -1;
      comm.broadcast(std::as_writable_bytes(std::span(&from_root, 1)), round % comm.size());
      ASSERT_EQ(from_root, round);
    }
  });
}

TEST_P(SharedMemorySum, GivesTheSerialSumToTheRootAlone) {
  with_all_ranks(GetParam(), [&](Communicator& comm) {
    const auto memory = comm.allocate(3000);
    for (int round = 0; round < 20; ++round) {
      const int root = round % comm.size();
      for (std::size_t i = 0; i < 3000; ++i) memory[i] = element(comm.rank(), i, round);
      comm.sum_to_root(memory.subspan(100), root);
      for (std::size_t i = 0; i < 3000; ++i) {
        float expected = element(comm.rank(), i, round);
        if (comm.rank() == root && i >= 100) {
          expected = element(0, i, round);
          for (int r = 1; r < comm.size(); ++r) expected += element(r, i, round);
        }
        ASSERT_EQ(memory[i], expected);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, SharedMemorySum, ::testing::Values(2, 3, 4, 7));

TEST(SharedMemory, RefusesMemoryItDidNotGive) {
  with_all_ranks(2, [](Communicator& comm) {
    std::vector<float> other(10);
    EXPECT_THROW(comm.start_sum(other), Error);
  });
}

TEST(SharedMemory, NamesTheRankThatDidNotArriveInTime) {
  Segment segment;
  std::thread other([&] {
    const auto comm = join(segment, 1, 2);
    const auto memory = comm->allocate(16);
    // Starts nothing: as a rank that hangs would.
    EXPECT_THROW(
        {
          comm->start_sum(memory.subspan(0, 8));
          comm->finish();
          comm->start_sum(memory.subspan(0, 8));
          comm->finish();
        },
        Error);
  });
  const auto comm = join(segment, 0, 2, 0.2);
  const auto memory = comm->allocate(16);
  comm->start_sum(memory.subspan(0, 8));
  comm->finish();
  try {
    comm->barrier();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kPeer);
    EXPECT_NE(std::string(error.what()).find("rank 1 did not reach"), std::string::npos)
        << error.what();
  }
  other.join();
}

TEST(SharedMemory, NamesTheRankThatWasKilledDuringAllReduce) {
  Segment segment;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto comm = join(segment, 1, 2);
    comm->allocate(1000);
    ::raise(SIGKILL);
  }
  const auto comm = join(segment, 0, 2, 30);
  const auto memory = comm->allocate(1000);
  comm->start_sum(memory);
  try {
    comm->finish();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kPeer);
    EXPECT_EQ(std::string(error.what()), "rank 1 died before the all-reduce");
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(SharedMemory, StopsWaitingWhenAnotherRankStops) {
  Segment segment;
  std::thread other([&] {
    const auto comm = join(segment, 1, 2);
    comm->allocate(16);
    comm->abandon();
  });
  const auto comm = join(segment, 0, 2);
  const auto memory = comm->allocate(16);
  comm->start_sum(memory);
  try {
    comm->finish();
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rank 1 stopped"), std::string::npos);
  }
  other.join();
}

}  // namespace
}  // namespace lockstep::comm
