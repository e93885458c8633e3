// The back end for NCCL, with a fake in NCCL's place and memory of the device double.
#include "lockstep/comm/backends/c10d/nccl.h"

#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <mutex>

#include "lockstep/base/error.h"
#include "lockstep/comm/backends/c10d/member_store.h"
#include "lockstep/comm/rendezvous/in_process_ranks.h"

namespace lockstep::comm {
namespace {

using c10d::FakeNccl;

constexpr Seconds kTimeout{1};

Context short_context(Session& session) {
  Context context = session.context();
  context.timeout = kTimeout;
  return context;
}

/// What two ranks report when they sum with an NCCL that behaves like this.
std::vector<std::string> errors_of_two_ranks(FakeNccl behaviour, bool queued = false) {
  c10d::fake_nccl = FakeNccl::kSums;
  std::mutex mutex;
  std::vector<std::string> errors;
  on_all_ranks(2, fresh_job(), [&](Session& session) {
    std::unique_ptr<Communicator> comm;
    try {
      if (behaviour == FakeNccl::kConnectionHangs) c10d::fake_nccl = behaviour;
      comm = make_nccl(short_context(session), session.options().place.rank);
      const auto memory = comm->allocate(8);
      c10d::fake_nccl = behaviour;
      comm->start_sum(memory);
      if (queued) {
        comm->queue_finish();
        comm->confirm();
      } else {
        comm->finish();
      }
    } catch (const std::exception& error) {
      if (comm) comm->abandon();
      const std::lock_guard lock(mutex);
      errors.push_back(error.what());
    }
  });
  c10d::fake_nccl = FakeNccl::kSums;
  return errors;
}

TEST(Nccl, SumsInPlaceOnTheDevice) {
  on_all_ranks(2, fresh_job(), [](Session& session) {
    const int gpu = session.options().place.rank;
    const auto comm = make_nccl(session.context(), gpu);
    const auto memory = comm->allocate(4);
    const auto on_device = torch::from_blob(
        memory.data(), {4},
        torch::TensorOptions().device(torch::kCUDA, static_cast<c10::DeviceIndex>(gpu)));
    on_device.fill_(gpu + 1);
    comm->start_sum(memory);
    comm->finish();
    EXPECT_EQ(on_device.sum().item<float>(), 12);
  });
}

TEST(Nccl, SumsThatTheHostDoesNotWaitForAreThereForTheDevice) {
  on_all_ranks(2, fresh_job(), [](Session& session) {
    const int gpu = session.options().place.rank;
    const auto comm = make_nccl(session.context(), gpu);
    const auto memory = comm->allocate(4);
    const auto on_device = torch::from_blob(
        memory.data(), {4},
        torch::TensorOptions().device(torch::kCUDA, static_cast<c10::DeviceIndex>(gpu)));
    on_device.fill_(gpu + 1);
    comm->start_sum(memory);
    comm->queue_finish();
    const auto sum = on_device.sum();
    comm->confirm();
    EXPECT_EQ(sum.item<float>(), 12);
  });
}

TEST(Nccl, FailuresOfSumsThatTheHostDoesNotWaitForShowWhenTheyAreConfirmed) {
  const auto failed = errors_of_two_ranks(FakeNccl::kFails, true);
  ASSERT_EQ(failed.size(), 2u);
  EXPECT_EQ(failed[0], "the all-reduce failed: NCCL error: remote process exited");
  const auto hung = errors_of_two_ranks(FakeNccl::kNeverEnds, true);
  ASSERT_EQ(hung.size(), 2u);
  EXPECT_EQ(hung[0], "the all-reduce over NCCL did not finish within 1.00 s");
}

TEST(Nccl, WorkThatFailedIsAnErrorThoughItCountsAsCompleted) {
  for (const std::string& error : errors_of_two_ranks(FakeNccl::kFails)) {
    EXPECT_EQ(error, "the all-reduce failed: NCCL error: remote process exited");
  }
  EXPECT_EQ(errors_of_two_ranks(FakeNccl::kFails).size(), 2u);
}

/// What the two ranks throw when NCCL reports this.
std::vector<std::string> errors_for(const std::string& report) {
  const std::string before = std::exchange(c10d::fake_nccl_error, report);
  auto errors = errors_of_two_ranks(FakeNccl::kFails);
  c10d::fake_nccl_error = before;
  return errors;
}

TEST(Nccl, TheCauseIsTakenFromTheLongReportOfAnError) {
  const auto errors = errors_for(
      "NCCL error in: NCCLUtils.cpp:94, unhandled system error (run with NCCL_DEBUG=INFO for "
      "details), NCCL version 2.21.5\nncclSystemError: System call (e.g. socket, malloc) or "
      "external library call failed or device error. \nLast error:\nsocketPollConnect: connect "
      "returned Connection refused\nException raised from here");
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0],
            "the all-reduce failed: NCCL error in: NCCLUtils.cpp:94, unhandled system error (run "
            "with NCCL_DEBUG=INFO for details), NCCL version 2.21.5; last error: "
            "socketPollConnect: connect returned Connection refused");
}

TEST(Nccl, LackOfMemoryIsNotBlamedOnAnotherRank) {
  const std::string report = "ncclUnhandledCudaError: Last error:\nCuda failure 2 'out of memory'";
  const auto errors = errors_for(report);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0], report);
}

TEST(Nccl, ASumThatNeverEndsIsReportedAtTheTimeout) {
  const auto errors = errors_of_two_ranks(FakeNccl::kNeverEnds);
  ASSERT_EQ(errors.size(), 2u);
  for (const std::string& error : errors) {
    EXPECT_EQ(error, "the all-reduce over NCCL did not finish within 1.00 s");
  }
}

TEST(Nccl, AConnectionThatHangsIsReportedAtTheTimeout) {
  const auto errors = errors_of_two_ranks(FakeNccl::kConnectionHangs);
  ASSERT_EQ(errors.size(), 2u);
  for (const std::string& error : errors) {
    EXPECT_EQ(error, "the first all-reduce over NCCL did not finish within 1.00 s");
  }
}

TEST(Nccl, ARankThatHangsInTheMiddleIsNamed) {
  c10d::fake_nccl = FakeNccl::kSums;
  on_all_ranks(2, fresh_job(), [](Session& session) {
    const auto comm = make_nccl(short_context(session), session.options().place.rank);
    if (session.options().place.rank == 1) {
      std::this_thread::sleep_for(2 * kTimeout);
      comm->abandon();
      return;
    }
    try {
      comm->start_sum(comm->allocate(8));
      comm->finish();
      ADD_FAILURE() << "one rank is missing";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "rank 1 did not reach the all-reduce over NCCL within 1.00 s");
    }
    comm->abandon();
  });
}

TEST(Nccl, RanksThatNeverArriveAreNamed) {
  on_all_ranks(3, fresh_job(), [](Session& session) {
    if (session.options().place.rank != 0) {
      std::this_thread::sleep_for(2 * kTimeout);
      return;
    }
    try {
      make_nccl(short_context(session), 0);
      ADD_FAILURE() << "two ranks are missing";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "ranks 1 and 2 did not reach NCCL within 1 s");
    }
  });
}

TEST(Nccl, LeavesNoFailureToTheThreadsOfC10d) {
  on_all_ranks(1, fresh_job(), [](Session& session) { make_nccl(session.context(), 0); });
  const bool recent =
      TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 2);
  const std::vector<const char*> names =
      recent ? std::vector{"TORCH_NCCL_ENABLE_MONITORING", "TORCH_NCCL_ASYNC_ERROR_HANDLING",
                           "TORCH_NCCL_BLOCKING_WAIT", "TORCH_NCCL_RETHROW_CUDA_ERRORS"}
             : std::vector{"NCCL_ASYNC_ERROR_HANDLING", "NCCL_BLOCKING_WAIT"};
  for (const char* name : names) {
    ASSERT_NE(std::getenv(name), nullptr) << name;
    EXPECT_STREQ(std::getenv(name), "0") << name;
  }
  // Each version has its own names, and warns of those of others.
  EXPECT_EQ(std::getenv(recent ? "NCCL_BLOCKING_WAIT" : "TORCH_NCCL_BLOCKING_WAIT"), nullptr);
}

TEST(MemberStore, AnswersWhetherKeysAreThereAndDoesNotThrow) {
  on_all_ranks(1, fresh_job(), [](Session& session) {
    MemberStore store(session.context(), "test");
    EXPECT_FALSE(store.check({"absent"}));
    store.set("present", std::vector<std::uint8_t>{1});
    EXPECT_TRUE(store.check({"present"}));
    EXPECT_FALSE(store.check({"present", "absent"}));
  });
}

}  // namespace
}  // namespace lockstep::comm
