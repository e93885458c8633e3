#pragma once

// Stands in for the header of the same name in a LibTorch without NCCL: ranks are threads of one
// process, sums are made on the device double, and work can be late, fail or never end.

#include <torch/torch.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

namespace c10d {

enum class FakeNccl { kSums, kFails, kNeverEnds, kConnectionHangs };
inline std::atomic<FakeNccl> fake_nccl{FakeNccl::kSums};
/// Groups that were shut down, and those that were destroyed without it.
inline std::atomic<int> fake_nccl_shut_down{0};
inline std::atomic<int> fake_nccl_only_destroyed{0};
/// What work that fails reports.
inline std::string fake_nccl_error = "NCCL error: remote process exited";

class ProcessGroupNCCL : public torch::CustomClassHolder {
 public:
  struct Options : torch::CustomClassHolder {
    static c10::intrusive_ptr<Options> create() { return c10::make_intrusive<Options>(); }
    std::chrono::milliseconds timeout{0};
    bool is_high_priority_stream = false;
  };

  /// As NCCL's: complete also when it failed, and wait() does not throw then.
  class SumWork : public Work {
   public:
    explicit SumWork(FakeNccl behaviour) : behaviour_(behaviour) {}
    bool isCompleted() override { return behaviour_ == FakeNccl::kFails || done_; }
    std::exception_ptr exception() const override {
      if (behaviour_ != FakeNccl::kFails) return nullptr;
      return std::make_exception_ptr(std::runtime_error(fake_nccl_error));
    }
    bool wait(std::chrono::milliseconds) override {
      // NCCL's makes only the stream wait.
      if (behaviour_ == FakeNccl::kFails || behaviour_ == FakeNccl::kNeverEnds) return true;
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::seconds(30), [&] { return done_.load(); });
      return true;
    }
    void finish() {
      done_ = true;
      const std::lock_guard lock(mutex_);
      changed_.notify_all();
    }

   private:
    const FakeNccl behaviour_;
    std::atomic<bool> done_{false};
    std::mutex mutex_;
    std::condition_variable changed_;
  };

  ProcessGroupNCCL(const c10::intrusive_ptr<Store>&, int rank, int size,
                   const c10::intrusive_ptr<Options>&)
      : rank_(rank), size_(size) {
    const std::lock_guard lock(mutex());
    if (rank == 0) rounds().clear();
  }
  ~ProcessGroupNCCL() override {
    if (!down_) ++fake_nccl_only_destroyed;
  }
  void shutdown() {
    down_ = true;
    ++fake_nccl_shut_down;
  }

  c10::intrusive_ptr<Work> allreduce(std::vector<at::Tensor>& tensors) {
    const std::lock_guard lock(mutex());
    const bool connects = calls_ == 0;
    // The first sum connects the ranks, and succeeds unless that is what hangs.
    auto work = c10::make_intrusive<SumWork>(connects ? FakeNccl::kSums : fake_nccl.load());
    Round& round = rounds()[calls_++];
    if (fake_nccl == FakeNccl::kConnectionHangs && connects) return work;
    if (fake_nccl == FakeNccl::kNeverEnds && !connects) return work;
    round.tensors.push_back(tensors[0]);
    round.works.push_back(work);
    if (static_cast<int>(round.tensors.size()) < size_) return work;
    auto sum = torch::zeros(round.tensors[0].sizes(), round.tensors[0].scalar_type());
    for (const auto& tensor : round.tensors) sum.add_(tensor.cpu());
    for (auto& tensor : round.tensors) tensor.copy_(sum);
    for (const auto& waiting : round.works) waiting->finish();
    return work;
  }
  c10::intrusive_ptr<Work> reduce(std::vector<at::Tensor>& tensors, const ReduceOptions&) {
    return allreduce(tensors);
  }
  c10::intrusive_ptr<Work> broadcast(std::vector<at::Tensor>& tensors, const BroadcastOptions& o) {
    if (rank_ != o.rootRank) tensors[0].zero_();
    return allreduce(tensors);
  }
  c10::intrusive_ptr<Work> allgather(std::vector<std::vector<at::Tensor>>&,
                                     std::vector<at::Tensor>&) {
    throw std::logic_error("the fake of NCCL gathers nothing");
  }

 private:
  struct Round {
    std::vector<at::Tensor> tensors;
    std::vector<c10::intrusive_ptr<SumWork>> works;
  };
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::map<int, Round>& rounds() {
    static std::map<int, Round> all;
    return all;
  }

  int rank_;
  int size_;
  int calls_ = 0;
  bool down_ = false;
};

}  // namespace c10d
