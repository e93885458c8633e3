#include "lockstep/comm/c10d/nccl.h"

#include "lockstep/base/error.h"

// LibTorch says at compile time whether it was built with NCCL; this is the one place that asks.
#if defined(USE_C10D_NCCL) && __has_include(<c10/cuda/CUDAStream.h>)
#define LOCKSTEP_HAS_NCCL 1
#include <torch/torch.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <cstring>
#include <deque>

#include "lockstep/comm/c10d/member_store.h"
#else
#define LOCKSTEP_HAS_NCCL 0
#endif

namespace lockstep::comm {

#if LOCKSTEP_HAS_NCCL

namespace {

class Nccl final : public Communicator {
 public:
  Nccl(const NcclOptions& options, Membership& membership)
      : Communicator(options.rank, options.size),
        device_(torch::kCUDA, static_cast<c10::DeviceIndex>(options.gpu)) {
    auto store = c10::make_intrusive<MemberStore>(membership, options.timeout);
    auto settings = c10d::ProcessGroupNCCL::Options::create();
    settings->timeout =
        std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout.count() * 1000));
    group_ =
        c10::make_intrusive<c10d::ProcessGroupNCCL>(store, options.rank, options.size, settings);
  }

  std::string_view backend() const override { return "nccl"; }

  std::span<float> allocate(std::size_t count) override {
    const auto floats = static_cast<std::int64_t>(count);
    areas_.push_back({torch::zeros({floats}, torch::TensorOptions().pinned_memory(true)),
                      torch::empty({floats}, torch::TensorOptions().device(device_))});
    return {areas_.back().host.data_ptr<float>(), count};
  }

  void start_sum(std::span<float> values) override {
    if (values.empty()) return;
    auto [host, mirror] = find(values);
    mirror.copy_(host, /*non_blocking=*/true);
    std::vector<at::Tensor> tensors{mirror};
    pending_.push_back({group_->allreduce(tensors), host, mirror});
  }

  void finish() override {
    translate("all-reduce", [&] {
      for (; !pending_.empty(); pending_.pop_front()) {
        pending_.front().work->wait();
        pending_.front().host.copy_(pending_.front().mirror);
      }
    });
  }

  void sum_to_root(std::span<float> values, int root) override {
    auto [host, mirror] = find(values);
    translate("gather", [&] {
      mirror.copy_(host);
      std::vector<at::Tensor> tensors{mirror};
      c10d::ReduceOptions options;
      options.rootRank = root;
      group_->reduce(tensors, options)->wait();
      if (rank() == root) host.copy_(mirror);
    });
  }

  void broadcast(std::span<std::byte> bytes, int root) override {
    if (bytes.empty()) return;
    translate("broadcast", [&] {
      auto view = as_tensor(bytes);
      std::vector<at::Tensor> tensors{view.to(device_)};
      c10d::BroadcastOptions options;
      options.rootRank = root;
      group_->broadcast(tensors, options)->wait();
      view.copy_(tensors[0]);
    });
  }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    if (mine.empty()) return;
    translate("gather", [&] {
      std::vector<at::Tensor> input{as_tensor(mine).to(device_)};
      std::vector<std::vector<at::Tensor>> output(1);
      for (int r = 0; r < size(); ++r) output[0].push_back(torch::empty_like(input[0]));
      group_->allgather(output, input)->wait();
      as_tensor(all).copy_(torch::cat(output[0]));
    });
  }

 private:
  struct Area {
    at::Tensor host;
    at::Tensor mirror;
  };
  struct Pending {
    c10::intrusive_ptr<c10d::Work> work;
    at::Tensor host;
    at::Tensor mirror;
  };

  static at::Tensor as_tensor(std::span<const std::byte> bytes) {
    return torch::from_blob(const_cast<std::byte*>(bytes.data()),
                            {static_cast<std::int64_t>(bytes.size())}, torch::kUInt8);
  }

  /// The part of an area, on the host and on the device.
  Area find(std::span<float> values) const {
    for (const Area& area : areas_) {
      const float* start = area.host.data_ptr<float>();
      if (values.data() < start || values.data() + values.size() > start + area.host.numel())
        continue;
      const auto count = static_cast<std::int64_t>(values.size());
      return {area.host.narrow(0, values.data() - start, count),
              area.mirror.narrow(0, values.data() - start, count)};
    }
    throw Error(ErrorKind::kInternal, "a sum of memory that allocate() did not give");
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
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> group_;
  std::deque<Area> areas_;
  std::deque<Pending> pending_;
};

}  // namespace

bool has_nccl() {
  return true;
}

std::unique_ptr<Communicator> make_nccl(const NcclOptions& options, Membership& membership) {
  return std::make_unique<Nccl>(options, membership);
}

#else

bool has_nccl() {
  return false;
}

std::unique_ptr<Communicator> make_nccl(const NcclOptions&, Membership&) {
  throw Error(ErrorKind::kEnvironment,
              "--backend nccl, but the LibTorch of this build was made without NCCL",
              "use --backend gloo");
}

#endif

}  // namespace lockstep::comm
