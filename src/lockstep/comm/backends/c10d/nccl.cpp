#include "lockstep/comm/backends/c10d/nccl.h"

#include "lockstep/base/error.h"

// LibTorch defines at compile time whether it was built with NCCL; only this file checks it.
#if defined(USE_C10D_NCCL) && defined(LOCKSTEP_HAS_CUDA)
#define LOCKSTEP_HAS_NCCL 1
#include <torch/torch.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <thread>

#include "lockstep/comm/backends/c10d/member_store.h"
#include "lockstep/comm/backends/c10d/rounded_sum.h"
#else
#define LOCKSTEP_HAS_NCCL 0
#endif

namespace lockstep::comm {

#if LOCKSTEP_HAS_NCCL

namespace {

/// A sum inside a host takes well under a millisecond: poll often before sleeping.
constexpr int kPollsBeforeSleep = 1000;
constexpr std::chrono::microseconds kNap{20};

class Nccl final : public Communicator {
 public:
  Nccl(const Context& context, int gpu)
      : Communicator(context.rank, context.size),
        device_(torch::kCUDA, static_cast<c10::DeviceIndex>(gpu)),
        timeout_(static_cast<std::int64_t>(context.timeout.count() * 1000)) {
    // c10d would monitor the ranks through its store; the coordinator of the run does that.
    ::setenv("TORCH_NCCL_ENABLE_MONITORING", "0", /*overwrite=*/0);
    auto store = c10::make_intrusive<MemberStore>(context, "nccl/" + context.group);
    auto settings = c10d::ProcessGroupNCCL::Options::create();
    settings->timeout = timeout_;
    group_ =
        c10::make_intrusive<c10d::ProcessGroupNCCL>(store, context.rank, context.size, settings);
  }

  std::string_view backend() const override { return "nccl"; }

  Residence residence() const override { return Residence::kDevice; }

  std::span<float> allocate(std::size_t count) override {
    const auto floats = static_cast<std::int64_t>(count);
    areas_.push_back(torch::zeros({floats}, torch::TensorOptions().device(device_)));
    return {areas_.back().data_ptr<float>(), count};
  }

  // c10d makes its stream wait for what the current stream has to do first, the copy of the
  // gradients into `values` among it.
  void start_sum(std::span<float> values) override {
    if (values.empty()) return;
    translate("all-reduce", [&] {
      std::vector<at::Tensor> tensors{on_device(values)};
      pending_.push_back(group_->allreduce(tensors));
    });
  }

  void finish() override {
    translate("all-reduce", [&] {
      for (; !pending_.empty(); pending_.pop_front()) await(*pending_.front(), "all-reduce");
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
  at::Tensor on_device(std::span<float> values) const {
    return torch::from_blob(values.data(), {static_cast<std::int64_t>(values.size())},
                            torch::TensorOptions().device(device_));
  }

  /// NCCL itself waits forever. Its wait() only makes the current stream wait, which is what later
  /// work on the sums needs.
  void await(c10d::Work& work, const char* what) const {
    const auto deadline = std::chrono::steady_clock::now() + timeout_;
    for (int polls = 0; !work.isCompleted(); ++polls) {
      if (polls < kPollsBeforeSleep) continue;
      if (std::chrono::steady_clock::now() > deadline) {
        throw Error(ErrorKind::kPeer,
                    fmt::format("the {} over NCCL was not done after {:.0f} s", what,
                                std::chrono::duration<double>(timeout_).count()),
                    "another rank hangs; raise --timeout if it is only slow");
      }
      std::this_thread::sleep_for(kNap);
    }
    work.wait();
  }

  template <class Call>
  void translate(const char* what, Call&& call) {
    try {
      call();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& problem) {
      const char* end = std::strchr(problem.what(), '\n');
      const std::string line = end != nullptr ? std::string(problem.what(), end) : problem.what();
      throw Error(ErrorKind::kPeer, "the " + std::string(what) + " failed: " + line,
                  "another rank died, hung or lost its connection; see its output");
    }
  }

  torch::Device device_;
  std::chrono::milliseconds timeout_;
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> group_;
  std::deque<at::Tensor> areas_;
  std::deque<c10::intrusive_ptr<c10d::Work>> pending_;
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

}  // namespace lockstep::comm
