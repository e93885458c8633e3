#include "lockstep/comm/backends/c10d/gloo.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <sstream>
#include <thread>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"
#include "lockstep/comm/rendezvous/in_process_ranks.h"
#include "lockstep/comm/rendezvous/socket.h"

namespace lockstep::comm {
namespace {

void with_gloo(int size, const std::function<void(Communicator&)>& body) {
  on_all_ranks(size, fresh_job(), [&](Session& session) { body(*make_gloo(session.context())); });
}

TEST(Gloo, SumsBucketsInPlaceOnEveryRank) {
  with_gloo(3, [](Communicator& comm) {
    const auto memory = comm.allocate(1000);
    for (std::size_t i = 0; i < 1000; ++i) memory[i] = static_cast<float>(comm.rank() + 1);
    comm.start_sum(memory.subspan(0, 500));
    comm.start_sum(memory.subspan(500, 500));
    comm.finish();
    for (float value : memory) ASSERT_EQ(value, 6.0F);
  });
}

TEST(Gloo, BroadcastsAndGathers) {
  with_gloo(2, [](Communicator& comm) {
    int value = comm.rank() == 1 ? 7 : 0;
    comm.broadcast(std::as_writable_bytes(std::span(&value, 1)), 1);
    EXPECT_EQ(value, 7);
    EXPECT_EQ(comm.gather_all(comm.rank()), (std::vector<int>{0, 1}));
    comm.barrier();
  });
}

TEST(Gloo, RoundsAllButTheExactPartWhenAskedTo) {
  constexpr std::size_t kCount = 1003, kExact = 5, kBucket = 400;
  for (const Wire wire : {Wire::kHalf, Wire::kBrain}) {
    with_gloo(3, [&](Communicator& comm) {
      const auto memory = comm.allocate_rounded(kCount, wire, kExact);
      const auto element = [](int rank, std::size_t i) {
        return static_cast<float>(Rng(static_cast<std::uint64_t>(rank), i, 0).normal()) * 1e-5F;
      };
      for (int round = 0; round < 2; ++round) {
        for (std::size_t i = 0; i < kCount; ++i) memory[i] = element(comm.rank(), i);
        for (std::size_t begin = 0; begin < kCount; begin += kBucket) {
          comm.start_sum(memory.subspan(begin, std::min(kBucket, kCount - begin)));
        }
        comm.finish();
        std::size_t off = 0;
        for (std::size_t i = 0; i < kCount; ++i) {
          double sum = 0, sizes = 0;
          for (int r = 0; r < 3; ++r) {
            sum += element(r, i);
            sizes += std::abs(element(r, i));
          }
          // Two roundings of the 16-bit form; of floats where exact.
          const double unit =
              i + kExact >= kCount ? 0x1p-23 : 2 * (wire == Wire::kHalf ? 0x1p-11 : 0x1p-8);
          ASSERT_NEAR(memory[i], sum, unit * sizes + 1e-13) << i;
          off += std::abs(memory[i] - sum) > 0x1p-23 * sizes ? 1 : 0;
        }
        EXPECT_GT(off, kCount / 2) << "nothing was rounded";
        const auto all = comm.gather_all<float>(std::span<const float>(memory));
        for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], memory[i % kCount]);
      }
    });
  }
}

TEST(Gloo, GivesTheSumToTheRootAlone) {
  with_gloo(3, [](Communicator& comm) {
    const auto memory = comm.allocate(1000);
    for (const int root : {0, 2, 0}) {
      std::fill(memory.begin(), memory.end(), static_cast<float>(comm.rank() + 1));
      comm.sum_to_root(memory, root);
      const float expected = comm.rank() == root ? 6.0F : static_cast<float>(comm.rank() + 1);
      for (float value : memory) ASSERT_EQ(value, expected);
    }
  });
}

/// Connects without pause to every port that this process listens on, and sends noise.
class UnauthenticatedPeers {
 public:
  UnauthenticatedPeers() : thread_([this] { disturb(); }) {}
  ~UnauthenticatedPeers() {
    over_ = true;
    thread_.join();
  }
  int connections() const { return connections_; }

 private:
  void disturb() {
    const std::vector<std::byte> noise(64, std::byte{0xff});
    std::deque<FileDescriptor> kept;
    while (!over_) {
      for (const Endpoint& port : own_listening_ports()) {
        try {
          kept.push_back(connect_to(port, after(Seconds(0.2))));
          send_all(kept.back(), noise, after(Seconds(0.2)));
          ++connections_;
        } catch (const Error&) {
          // It was closed in the meantime.
        }
      }
      while (kept.size() > 50) kept.pop_front();
    }
  }

  static std::vector<Endpoint> own_listening_ports() {
    std::set<std::string> own;
    for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const std::string target = std::filesystem::read_symlink(file.path(), gone).string();
      if (target.starts_with("socket:[")) own.insert(target.substr(8, target.size() - 9));
    }
    std::vector<Endpoint> ports;
    std::ifstream table("/proc/net/tcp");
    for (std::string line; std::getline(table, line);) {
      std::istringstream words(line);
      std::vector<std::string> field{std::istream_iterator<std::string>(words), {}};
      if (field.size() < 10 || field[3] != "0A" || !own.contains(field[9])) continue;
      ports.push_back({"127.0.0.1", std::stoi(field[1].substr(9), nullptr, 16)});
    }
    return ports;
  }

  std::atomic<bool> over_{false};
  std::atomic<int> connections_{0};
  std::thread thread_;
};

/// Four ranks sum ones over Gloo; how many of them joined. A rank that cannot throws kPeer.
int joined_ranks() {
  std::atomic<int> joined{0};
  on_all_ranks(4, fresh_job(), [&](Session& session) {
    try {
      const auto comm = make_gloo(session.context());
      const auto memory = comm->allocate(10);
      std::fill(memory.begin(), memory.end(), 1.0F);
      comm->start_sum(memory);
      comm->finish();
      EXPECT_EQ(memory[9], 4.0F);
      ++joined;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kPeer) << error.what();
    }
  });
  return joined;
}

TEST(Gloo, UnauthenticatedPeersMayBlockAStartButNeverJoinASum) {
  {
    UnauthenticatedPeers peers;
    for (int round = 0; round == 0 || peers.connections() == 0; ++round) joined_ranks();
  }
  EXPECT_EQ(joined_ranks(), 4) << "once they are gone";
}

TEST(Gloo, NamesTheRankThatWasKilled) {
  const std::string job = fresh_job();
  std::array<int, 2> connected{};
  ASSERT_EQ(::pipe(connected.data()), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Session session(test_session(1, 2, job));
    const auto comm = make_gloo(session.context());
    char both = 0;
    (void)!::read(connected[0], &both, 1);
    ::raise(SIGKILL);
  }
  Session session(test_session(0, 2, job));
  const auto comm = make_gloo(session.context());
  ASSERT_EQ(::write(connected[1], "", 1), 1);
  const auto memory = comm->allocate(100'000);
  try {
    comm->start_sum(memory);
    comm->finish();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kPeer);
    // From the coordinator or from the connection, whichever reports it first.
    EXPECT_TRUE(std::string(error.what()).starts_with("rank 1 ")) << error.what();
    EXPECT_NE(std::string(error.what()).find("died"), std::string::npos) << error.what();
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  for (const int end : connected) ::close(end);
}

TEST(Gloo, SurvivesASumAfterItsPeerIsGone) {
  const std::string job = fresh_job();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Session session(test_session(1, 2, job));
    const auto comm = make_gloo(session.context());
    comm->barrier();
    ::_exit(0);
  }
  Session session(test_session(0, 2, job));
  const auto comm = make_gloo(session.context());
  comm->barrier();
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  // The first write after the peer's end resets the connection, the next one raises SIGPIPE.
  for (int sum = 0; sum < 3; ++sum) {
    EXPECT_THROW(
        {
          const auto memory = comm->allocate(100'000);
          comm->start_sum(memory);
          comm->finish();
        },
        Error);
  }
}

}  // namespace
}  // namespace lockstep::comm
