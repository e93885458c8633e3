#include "lockstep/comm/c10d/gloo.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "lockstep/base/error.h"
#include "lockstep/comm/in_process_ranks.h"

namespace lockstep::comm {
namespace {

std::unique_ptr<Communicator> connect(Session& session) {
  const SessionOptions& options = session.options();
  return make_gloo({.rank = options.place.rank,
                    .size = options.place.size,
                    .secret = options.secret,
                    .timeout = Seconds(20)},
                   session.membership());
}

void with_gloo(int size, const std::function<void(Communicator&)>& body) {
  on_all_ranks(size, fresh_job(), [&](Session& session) { body(*connect(session)); });
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

TEST(Gloo, NamesTheRankThatWasKilled) {
  const std::string job = fresh_job();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Session session(test_session(1, 2, job));
    const auto comm = connect(session);
    ::raise(SIGKILL);
  }
  Session session(test_session(0, 2, job));
  const auto comm = connect(session);
  const auto memory = comm->allocate(100'000);
  try {
    comm->start_sum(memory);
    comm->finish();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kPeer);
    // Whoever notices first, the coordinator or the connection.
    EXPECT_TRUE(std::string(error.what()).starts_with("rank 1 ")) << error.what();
    EXPECT_NE(std::string(error.what()).find("died"), std::string::npos) << error.what();
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
}

}  // namespace
}  // namespace lockstep::comm
