#include "lockstep/comm/backends/backend_table.h"

#include <gtest/gtest.h>

#include "lockstep/base/error.h"
#include "lockstep/comm/rendezvous/in_process_ranks.h"

namespace lockstep::comm {
namespace {

using record::Backend;

TEST(ChooseBackend, TakesSharedMemoryWithinOneHost) {
  on_all_ranks(3, fresh_job(), [](Session& session) {
    EXPECT_EQ(choose_backend(Backend::kAuto, false, session), Backend::kSharedMemory);
    EXPECT_EQ(choose_backend(Backend::kGloo, false, session), Backend::kGloo);
    const auto comm = backend_of(Backend::kSharedMemory).make(session, {});
    EXPECT_EQ(comm->gather_all(comm->rank()), (std::vector<int>{0, 1, 2}));
  });
}

TEST(EngineBetweenHosts, IsGlooUnlessMpiStartedTheRanks) {
  on_all_ranks(2, fresh_job(),
               [](Session& session) { EXPECT_EQ(engine_between_hosts(session), Backend::kGloo); });
}

TEST(BackendTable, JoinsAGroupOfRanksOverGloo) {
  on_all_ranks(3, fresh_job(), [](Session& session) {
    const auto comm = backend_of(Backend::kGloo).make(session, {0, 2});
    if (session.options().place.rank == 1) {
      EXPECT_EQ(comm, nullptr);
    } else {
      EXPECT_EQ(comm->size(), 2);
      EXPECT_EQ(comm->gather_all(session.options().place.rank), (std::vector<int>{0, 2}));
    }
  });
}

TEST(BackendTable, HasNothingForBackEndsThatOnlyRecordsName) {
  try {
    backend_of(Backend::kTcp);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(error.hint().find("gloo"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::comm
