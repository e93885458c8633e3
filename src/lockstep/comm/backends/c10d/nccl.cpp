#include "lockstep/comm/backends/c10d/nccl.h"

#include <fmt/format.h>

#include "lockstep/base/error.h"
#include "lockstep/base/system/memory_errors.h"
#include "lockstep/comm/backends/backend_entry.h"
#include "lockstep/comm/rendezvous/attendance.h"
#include "lockstep/comm/rendezvous/membership.h"
#include "lockstep/comm/rendezvous/network_address.h"
#include "lockstep/comm/rendezvous/own_gpu.h"

// LibTorch defines at compile time whether it was built with NCCL; only this file checks it.
#if defined(USE_C10D_NCCL) && defined(LOCKSTEP_HAS_CUDA)
#define LOCKSTEP_HAS_NCCL 1
#include <torch/torch.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <thread>

#include "lockstep/comm/backends/c10d/member_store.h"
#include "lockstep/comm/backends/c10d/nccl_environment.h"
#include "lockstep/comm/backends/c10d/rounded_sum.h"
#include "lockstep/comm/rendezvous/peer_watch.h"
#include "lockstep/comm/wire/rounded_areas.h"
#else
#define LOCKSTEP_HAS_NCCL 0
#endif

namespace lockstep::comm {

#if LOCKSTEP_HAS_NCCL

namespace {

/// A sum inside a host takes well under a millisecond: poll often before sleeping.
constexpr int kPollsBeforeSleep = 1000;
constexpr std::chrono::microseconds kNap{20};
constexpr std::chrono::milliseconds kNapOfConnection{1};
/// After which others may know that this rank waits.
constexpr std::chrono::seconds kLongWait{1};

/// Ours comes first.
constexpr std::chrono::hours kTimeoutOfC10d{24 * 7};

/// Ends a group whose work is done. Where LibTorch has no such function the destructor does it;
/// where it has one, the destructor warns that it was not called.
template <class Group>
void shut_down(Group& group) {
  if constexpr (requires { group.shutdown(); }) group.shutdown();
}

class Nccl final : public Communicator {
 public:
  Nccl(const Context& context, int gpu)
      : Communicator(context.rank, context.size),
        context_(context),
        store_(c10::make_intrusive<MemberStore>(context, "nccl/" + context.group)),
        device_(torch::kCUDA, static_cast<c10::DeviceIndex>(gpu)),
        timeout_(static_cast<std::int64_t>(context.timeout.count() * 1000)) {
    set_nccl_environment(context.address);
    auto settings = c10d::ProcessGroupNCCL::Options::create();
    settings->timeout = kTimeoutOfC10d;
    // Sums start while backward keeps the GPU full: its blocks must not wait behind all of those.
    settings->is_high_priority_stream = true;
    group_ =
        c10::make_intrusive<c10d::ProcessGroupNCCL>(store_, context.rank, context.size, settings);
    try {
      wait_for_all("begins");
      connect();
    } catch (...) {
      let_go();
      throw;
    }
  }

  /// A communicator that one rank tears down while another still uses it hangs or fails there.
  ~Nccl() override {
    if (abandoned_ || !ends_well()) let_go();
  }

  void abandon() noexcept override { abandoned_ = true; }

  record::Backend backend() const override { return record::Backend::kNccl; }

  Residence residence() const override { return Residence::kDevice; }

  std::span<float> allocate(std::size_t count) override {
    const auto floats = static_cast<std::int64_t>(count);
    areas_.push_back(torch::zeros({floats}, torch::TensorOptions().device(device_)));
    return {areas_.back().data_ptr<float>(), count};
  }

  void round_sums(std::span<float> values, Wire wire) override { rounded_.add(values, wire); }

  // c10d makes its stream wait for what the current stream has to do first, the copy of the
  // gradients into `values` among it.
  void start_sum(std::span<float> values) override {
    const RoundedAreas::Split split = rounded_.split(values);
    translate("all-reduce", [&] {
      if (!split.rounded.empty()) {
        start(split.rounded, on_device(split.rounded).to(type_of(split.wire)));
      }
      if (!split.exact.empty()) start(split.exact, on_device(split.exact));
    });
  }

  void finish() override {
    translate("all-reduce", [&] {
      for (; !pending_.empty(); pending_.pop_front()) {
        await(*pending_.front().work, "all-reduce");
        store(pending_.front());
      }
    });
  }

  void queue_finish() override {
    translate("all-reduce", [&] {
      for (; !pending_.empty(); pending_.pop_front()) {
        pending_.front().work->wait();
        store(pending_.front());
        unconfirmed_.push_back(pending_.front().work);
      }
    });
  }

  void confirm() override {
    translate("all-reduce", [&] {
      for (; !unconfirmed_.empty(); unconfirmed_.pop_front()) {
        complete(*unconfirmed_.front(), "all-reduce");
      }
    });
  }

  void sum_to_root(std::span<float> values, int root) override {
    translate("gather", [&] {
      std::vector<at::Tensor> tensors{on_device(values)};
      c10d::ReduceOptions options;
      options.rootRank = root;
      await(*group_->reduce(tensors, options), "gather");
    });
  }

  void broadcast(std::span<std::byte> bytes, int root) override {
    if (bytes.empty()) return;
    translate("broadcast", [&] {
      auto view = as_tensor(bytes);
      std::vector<at::Tensor> tensors{view.to(device_)};
      c10d::BroadcastOptions options;
      options.rootRank = root;
      await(*group_->broadcast(tensors, options), "broadcast");
      view.copy_(tensors[0]);
    });
  }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    if (mine.empty()) return;
    translate("gather", [&] {
      std::vector<at::Tensor> input{as_tensor(mine).to(device_)};
      std::vector<std::vector<at::Tensor>> output(1);
      for (int r = 0; r < size(); ++r) output[0].push_back(torch::empty_like(input[0]));
      await(*group_->allgather(output, input), "gather");
      as_tensor(all).copy_(torch::cat(output[0]));
    });
  }

 private:
  /// False if a rank is gone; whoever lost it has reported it.
  bool ends_well() noexcept {
    try {
      wait_for_all("ends");
      shut_down(*group_);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  /// Of a group whose ranks are gone: its destructor would wait for them. The process ends soon;
  /// until then threads of c10d go on, and ask the store. Sums that hang may go on too, in memory
  /// that must not become another tensor's: a program may still save what it has.
  void let_go() {
    store_->close();
    group_.release();
    for (at::Tensor& area : areas_) area.unsafeReleaseTensorImpl();
  }

  /// Every rank has come this far. Throws kPeer, naming those that have not.
  void wait_for_all(const char* stage) {
    const auto key = [&](int rank) {
      return fmt::format("nccl/{}/{}/{}", context_.group, stage, rank);
    };
    context_.membership->put(key(rank()), "");
    const auto deadline = std::chrono::steady_clock::now() + timeout_;
    std::vector<int> missing;
    for (int other = 0; other < size(); ++other) {
      const Seconds left = deadline - std::chrono::steady_clock::now();
      try {
        context_.membership->get(key(other), std::max(left, Seconds(0.01)));
      } catch (const Error&) {
        context_.membership->check();
        missing.push_back(context_.world_rank(other));
      }
    }
    if (missing.empty()) return;
    throw Error(ErrorKind::kPeer,
                fmt::format("{} did not reach NCCL within {:.0f} s", name_ranks(missing),
                            context_.timeout.count()),
                "see the output of those ranks; raise --timeout if they are only slow");
  }

  /// NCCL connects its ranks in the first collective, and blocks inside it without a deadline. It
  /// is therefore made by another thread, which is left behind if it does not return. Ranks are
  /// connected when its sum has arrived.
  void connect() {
    struct State {
      std::atomic<bool> done{false};
      std::exception_ptr problem;
    };
    auto state = std::make_shared<State>();
    std::thread([state, group = group_, device = device_] {
      try {
        // A new thread begins with the first GPU, where this rank needs no context.
        const c10::DeviceGuard own_gpu(device);
        std::vector<at::Tensor> one{torch::zeros({1}, torch::TensorOptions().device(device))};
        const auto work = group->allreduce(one);
        while (!work->isCompleted()) std::this_thread::sleep_for(kNapOfConnection);
        if (const std::exception_ptr problem = work->exception()) std::rethrow_exception(problem);
      } catch (...) {
        state->problem = std::current_exception();
      }
      state->done = true;
    }).detach();
    translate("first all-reduce", [&] {
      wait_until([&] { return state->done.load(); }, "first all-reduce");
      if (state->problem) std::rethrow_exception(state->problem);
    });
  }

  struct Pending {
    c10::intrusive_ptr<c10d::Work> work;
    std::span<float> values;
    at::Tensor sent;  ///< the same memory, or a copy in 16 bits
  };

  void start(std::span<float> values, const at::Tensor& sent) {
    std::vector<at::Tensor> tensors{sent};
    pending_.push_back({group_->allreduce(tensors), values, sent});
  }

  /// On the current stream, which waits for the sum already.
  void store(const Pending& sum) const {
    if (sum.sent.scalar_type() != at::kFloat) on_device(sum.values).copy_(sum.sent);
  }

  static at::ScalarType type_of(Wire wire) {
    return wire == Wire::kHalf ? at::kHalf : at::kBFloat16;
  }

  at::Tensor on_device(std::span<float> values) const {
    return torch::from_blob(values.data(), {static_cast<std::int64_t>(values.size())},
                            torch::TensorOptions().device(device_));
  }

  /// NCCL itself waits forever. Work that failed counts as completed: its exception is thrown. Its
  /// wait() only makes the current stream wait, which is what later work on the sums needs.
  void await(c10d::Work& work, const char* what) {
    complete(work, what);
    work.wait();
  }

  void complete(c10d::Work& work, const char* what) {
    wait_until([&] { return work.isCompleted(); }, what);
    if (const std::exception_ptr problem = work.exception()) std::rethrow_exception(problem);
  }

  template <class Done>
  void wait_until(Done&& done, const char* what) {
    const auto began = std::chrono::steady_clock::now();
    attendance_.next();
    for (int polls = 0; !done(); ++polls) {
      if (polls < kPollsBeforeSleep) continue;
      if (polls % kPollsBeforeSleep == 0) context_.membership->check();
      const auto waited = std::chrono::steady_clock::now() - began;
      if (waited > std::min<std::chrono::nanoseconds>(kLongWait, timeout_ / 2))
        attendance_.announce();
      if (waited > timeout_) throw attendance_.timed_out(fmt::format("{} over NCCL", what));
      std::this_thread::sleep_for(kNap);
    }
  }

  template <class Call>
  void translate(const char* what, Call&& call) {
    try {
      call();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& problem) {
      if (reports_lack_of_memory(problem.what())) throw;  // no other rank is to blame
      context_.membership->check();  // the cause, where the coordinator has heard of it
      throw Error(ErrorKind::kPeer,
                  "the " + std::string(what) + " failed: " + cause_of_nccl_error(problem.what()),
                  "another rank died, hung or lost its connection; see its output, or repeat with "
                  "NCCL_DEBUG=INFO");
    }
  }

  Context context_;
  Attendance attendance_{context_};
  c10::intrusive_ptr<MemberStore> store_;
  torch::Device device_;
  std::chrono::milliseconds timeout_;
  bool abandoned_ = false;
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> group_;
  std::deque<at::Tensor> areas_;
  RoundedAreas rounded_;
  std::deque<Pending> pending_;
  std::deque<c10::intrusive_ptr<c10d::Work>> unconfirmed_;  ///< the stream waits for them
};

}  // namespace

bool has_nccl() {
  return true;
}

std::unique_ptr<Communicator> make_nccl(const Context& context, int gpu) {
  return std::make_unique<Nccl>(context, gpu);
}

#else

bool has_nccl() {
  return false;
}

std::unique_ptr<Communicator> make_nccl(const Context&, int) {
  throw Error(ErrorKind::kEnvironment, "--backend nccl: the LibTorch of this build has no NCCL",
              "use --backend gloo");
}

#endif

namespace {

/// What every rank reports of its GPU, through the coordinator: NCCL itself fails or hangs where
/// two ranks share one.
std::vector<std::string> gpus_of_ranks(Session& session) {
  const Placement& place = session.options().place;
  Membership& membership = session.membership();
  membership.put(fmt::format("gpu/{}", place.rank),
                 gpu_of_host(host_name(), pci_id_in(place.gpu_id)));
  std::vector<std::string> gpus;
  for (int rank = 0; rank < place.size; ++rank) {
    gpus.push_back(membership.get(fmt::format("gpu/{}", rank), session.options().timeout));
  }
  return gpus;
}

}  // namespace

BackendEntry nccl_backend() {
  return {.available = &has_nccl, .make = [](Session& session, const std::vector<int>& ranks) {
            const Context context = session.context(ranks);
            require_distinct_gpus(gpus_of_ranks(session),
                                  "; MIG instances of one GPU need --backend gloo");
            return context.rank < 0 ? nullptr : make_nccl(context, session.options().place.gpu);
          }};
}

}  // namespace lockstep::comm
