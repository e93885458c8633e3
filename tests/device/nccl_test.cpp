// The back end for NCCL, with a fake in NCCL's place and memory of the device double.
#include "lockstep/comm/backends/c10d/nccl.h"

#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>

#include "lockstep/base/error.h"
#include "lockstep/comm/backends/c10d/member_store.h"
#include "lockstep/comm/backends/single.h"
#include "lockstep/comm/rendezvous/in_process_ranks.h"
#include "lockstep/comm/rendezvous/network_address.h"
#include "lockstep/library/device_sum.h"
#include "lockstep/library/replica.h"
#include "lockstep/library/step_watch.h"
#include "lockstep/record/worker_environment.h"
#include "ordering.h"

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

TEST(Nccl, SendsGradientsIn16BitsAndTheRestExactly) {
  for (const Wire wire : {Wire::kHalf, Wire::kBrain}) {
    on_all_ranks(2, fresh_job(), [&](Session& session) {
      const int gpu = session.options().place.rank;
      const auto comm = make_nccl(session.context(), gpu);
      const auto memory = comm->allocate_rounded(6, wire, 2);
      const auto on_device = torch::from_blob(
          memory.data(), {6},
          torch::TensorOptions().device(torch::kCUDA, static_cast<c10::DeviceIndex>(gpu)));
      // Neither format keeps the last digit of 1.0001; both keep 1.
      on_device.fill_(1.0001);
      comm->start_sum(memory);
      comm->queue_finish();
      const auto sums = on_device.cpu();
      comm->confirm();
      EXPECT_TRUE(torch::equal(sums.narrow(0, 0, 4), torch::full({4}, 2.0)));
      EXPECT_TRUE(torch::equal(sums.narrow(0, 4, 2), torch::full({2}, 1.0001).mul(2)));
      on_device.fill_(3);
      comm->start_sum(memory.first(3));
      comm->finish();
      EXPECT_EQ(on_device.sum().item<float>(), 3 * 6 + 3 * 3);
    });
  }
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

TEST(Nccl, ShutsAGroupDownWhenAllRanksAreDoneWithIt) {
  const int before = c10d::fake_nccl_shut_down;
  on_all_ranks(2, fresh_job(), [](Session& session) {
    make_nccl(session.context(), session.options().place.rank);
  });
  EXPECT_EQ(c10d::fake_nccl_shut_down - before, 2);
  EXPECT_EQ(c10d::fake_nccl_only_destroyed, 0);
}

TEST(Nccl, LeavesAGroupBehindWhoseRanksAreGone) {
  // Its destructor would wait for them, for as long as c10d's own timeout.
  const int before = c10d::fake_nccl_shut_down;
  on_all_ranks(2, fresh_job(), [](Session& session) {
    const auto comm = make_nccl(short_context(session), session.options().place.rank);
    if (session.options().place.rank == 1) comm->abandon();
  });
  EXPECT_EQ(c10d::fake_nccl_shut_down, before);
  EXPECT_EQ(c10d::fake_nccl_only_destroyed, 0);
}

TEST(Nccl, TakesTheNetworkOfTheRunUnlessTheUserChoseOne) {
  const std::string address = outward_address(), network = interface_with(address);
  const auto chosen = [&] {
    on_all_ranks(1, fresh_job(), [&](Session& session) {
      Context context = session.context();
      context.address = address;
      make_nccl(context, 0);
    });
    const char* const value = std::getenv("NCCL_SOCKET_IFNAME");
    return std::string(value != nullptr ? value : "");
  };
  ::unsetenv("NCCL_SOCKET_IFNAME");
  EXPECT_EQ(chosen(), network.empty() ? "" : "=" + network);
  ::setenv("NCCL_SOCKET_IFNAME", "ib0", 1);
  EXPECT_EQ(chosen(), "ib0");
}

TEST(Nccl, LeavesNoFailureToTheThreadsOfC10d) {
  // As many job scripts have it.
  for (const char* name : {"TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT"}) {
    ::unsetenv(name);
  }
  ::setenv(
      TORCH_VERSION_MAJOR < 2 ? "NCCL_ASYNC_ERROR_HANDLING" : "TORCH_NCCL_ASYNC_ERROR_HANDLING",
      "1", 1);
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

torch::Device gpu_of(const Communicator& communicator) {
  return {torch::kCUDA, static_cast<c10::DeviceIndex>(communicator.rank())};
}

TEST(DeviceSum, SumsTensorsOfAnyLengthWithoutAWayThroughTheHost) {
  on_all_ranks(2, fresh_job(), [](Session& session) {
    const auto comm = make_nccl(session.context(), session.options().place.rank);
    library::DeviceSum device_sum(*comm);
    const auto options = torch::TensorOptions().device(gpu_of(*comm));
    // More than the buffer, the second across its end; the third is dense, but not contiguous.
    const std::vector<torch::Tensor> tensors{
        torch::full({700'001}, comm->rank() + 1.0, options),
        torch::full({3, 200'000}, comm->rank() + 10.0, options),
        torch::arange(6, options).to(torch::kFloat).reshape({2, 3}).t()};
    for (const auto& tensor : tensors) EXPECT_TRUE(device_sum.takes(tensor));
    EXPECT_FALSE(device_sum.takes(torch::ones({2})));
    EXPECT_FALSE(device_sum.takes(torch::ones({2}, options.dtype(torch::kLong))));
    device_sum.sum(tensors);
    device_sum.sum(std::span(tensors).first(1));
    EXPECT_TRUE(torch::equal(tensors[0].cpu(), torch::full({700'001}, 6.0)));
    EXPECT_TRUE(torch::equal(tensors[1].cpu(), torch::full({3, 200'000}, 21.0)));
    EXPECT_TRUE(torch::equal(tensors[2].cpu(),
                             torch::arange(0, 12, 2).to(torch::kFloat).reshape({2, 3}).t()));
  });
}

TEST(Library, MeasuresAPhaseUntilTheGpuIsThroughWithIt) {
  std::string folder = ::testing::TempDir() + "step_watch_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const torch::Device gpu(torch::kCUDA, 0);
  const auto waits_in_a_step = [&] {
    library::StepWatch watch(0, 1);
    watch.describe(1, gpu, record::Backend::kNone);
    watch.before_forward(4);
    auto output = torch::ones({4}, gpu);
    const std::int64_t before = device_double::Ordering::instance().waits();
    output.add_(1);
    watch.after_forward();
    output.add_(1);
    watch.backward_done();
    return device_double::Ordering::instance().waits() - before;
  };
  EXPECT_EQ(waits_in_a_step(), 0) << "without a record nobody waits";
  ::setenv(record::worker_environment::kWatchFolder, folder.c_str(), 1);
  EXPECT_EQ(waits_in_a_step(), 2);
  ::unsetenv(record::worker_environment::kWatchFolder);
  std::filesystem::remove_all(folder);
}

TEST(Library, RefusesANetworkThatIsNotOnTheGpuWhereItsRankSums) {
  on_all_ranks(1, fresh_job(), [](Session& session) {
    const auto nccl = make_nccl(session.context(), 0);
    const torch::Device first(torch::kCUDA, 0), second(torch::kCUDA, 1);
    const auto refused = [&](torch::Device network) -> std::string {
      try {
        library::require_own_device(network, first, "the generator", *nccl);
        return "";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kUsage);
        return error.what();
      }
    };
    EXPECT_EQ(refused(torch::kCPU), "the generator is on the CPU, but this rank uses cuda:0");
    EXPECT_EQ(refused(second), "the generator is on cuda:1, but this rank uses cuda:0");
    EXPECT_EQ(refused(first), "");
    // Other back ends take gradients through the host.
    EXPECT_NO_THROW(library::require_own_device(torch::kCPU, first, "", *make_single()));
  });
}

TEST(MemberStore, UsesNoMembershipOnceItIsClosed) {
  c10::intrusive_ptr<c10d::Store> clone;
  on_all_ranks(1, fresh_job(), [&](Session& session) {
    const auto store = c10::make_intrusive<MemberStore>(session.context(), "test");
    clone = store->clone();
    store->set("present", std::vector<std::uint8_t>{1});
    EXPECT_TRUE(clone->check({"present"}));
    store->close();
  });
  // A thread of c10d that outlives the run, whose membership is gone.
  EXPECT_FALSE(clone->check({"present"}));
  EXPECT_THROW(clone->get("present"), Error);
}

TEST(MemberStore, ClosingEndsAWaitOfAThreadThatOutlivesTheRun) {
  on_all_ranks(1, fresh_job(), [](Session& session) {
    const auto store = c10::make_intrusive<MemberStore>(session.context(), "test");
    std::string reason;
    std::thread waiting([&reason, clone = store->clone()] {
      try {
        clone->get("absent");
      } catch (const Error& error) {
        reason = error.what();
      }
    });
    store->close();
    waiting.join();
    EXPECT_EQ(reason, "the run has ended");
  });
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
