#pragma once

// Stands in for the header of the same name in a LibTorch without NCCL: ranks are threads of one
// process, and work can be late, fail or never end. As NCCL's, collectives run on a stream of their
// own, which waits for what the current stream has to do first; wait() makes the current stream
// wait for them. The double reports who forgets that.

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/torch.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "memory.h"
#include "ordering.h"
#include "streams.h"

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
  class FakeWork : public Work {
   public:
    FakeWork(FakeNccl behaviour, c10::DeviceIndex device, device_double::Ordering::Event done)
        : behaviour_(behaviour), device_(device), done_(std::move(done)) {}
    bool isCompleted() override {
      if (behaviour_ == FakeNccl::kFails) return true;
      const std::lock_guard lock(mutex_);
      return written_ && device_double::Ordering::instance().query(done_);
    }
    std::exception_ptr exception() const override {
      if (behaviour_ != FakeNccl::kFails) return nullptr;
      return std::make_exception_ptr(std::runtime_error(fake_nccl_error));
    }
    /// NCCL's returns at once. This one waits until all ranks have issued the collective, because
    /// the double cannot queue what other threads have yet to give.
    bool wait(std::chrono::milliseconds) override {
      if (behaviour_ == FakeNccl::kFails || behaviour_ == FakeNccl::kNeverEnds) return true;
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::seconds(30), [&] { return written_; });
      device_double::Ordering::instance().block(device_double::current_stream(device_), done_);
      return true;
    }
    void written() {
      const std::lock_guard lock(mutex_);
      written_ = true;
      changed_.notify_all();
    }

   private:
    const FakeNccl behaviour_;
    const c10::DeviceIndex device_;
    device_double::Ordering::Event done_;
    bool written_ = false;  ///< its results
    std::mutex mutex_;
    std::condition_variable changed_;
  };

  ProcessGroupNCCL(const c10::intrusive_ptr<Store>& store, int rank, int size,
                   const c10::intrusive_ptr<Options>&)
      : store_(store), rank_(rank), size_(size) {}
  ~ProcessGroupNCCL() override {
    if (!down_) ++fake_nccl_only_destroyed;
  }
  void shutdown() {
    down_ = true;
    ++fake_nccl_shut_down;
  }

  c10::intrusive_ptr<Work> allreduce(std::vector<at::Tensor>& tensors) {
    return issue(tensors, tensors, [](const Values& given, int) { return sum_of(given); });
  }
  c10::intrusive_ptr<Work> reduce(std::vector<at::Tensor>& tensors, const ReduceOptions& options) {
    return issue(tensors, tensors, [root = options.rootRank](const Values& given, int rank) {
      return rank == root ? sum_of(given) : given[static_cast<std::size_t>(rank)];
    });
  }
  c10::intrusive_ptr<Work> broadcast(std::vector<at::Tensor>& tensors,
                                     const BroadcastOptions& options) {
    return issue(tensors, tensors, [root = options.rootRank](const Values& given, int) {
      return given[static_cast<std::size_t>(root)];
    });
  }
  c10::intrusive_ptr<Work> allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                     std::vector<at::Tensor>& inputs) {
    return issue(inputs, outputs[0], [](const Values& given, int) { return torch::stack(given); });
  }

 private:
  using Values = std::vector<at::Tensor>;  ///< on the host, by rank
  /// What a rank gets; the first dimension is divided among its outputs if it has several.
  using Result = std::function<at::Tensor(const Values& given, int rank)>;
  /// What one rank gave to a collective.
  struct Part {
    at::Tensor given;  ///< on the host
    std::vector<at::Tensor> outputs;
    c10::intrusive_ptr<FakeWork> work;
  };

  static at::Tensor sum_of(const Values& given) {
    auto sum = given[0].clone();
    for (std::size_t rank = 1; rank < given.size(); ++rank) sum.add_(given[rank]);
    return sum;
  }

  /// The double checks what the stream may read and write when the collective is issued; results
  /// are written when all ranks have issued theirs.
  c10::intrusive_ptr<Work> issue(const std::vector<at::Tensor>& input,
                                 const std::vector<at::Tensor>& outputs, const Result& result) {
    const bool connects = calls_ == 0;
    const c10::Device device = input[0].device();
    if (connects) connect(device);
    auto& ordering = device_double::Ordering::instance();
    ordering.block(stream_, ordering.record(device_double::current_stream(device.index())));
    std::vector<device_double::Ordering::Access> accesses{access_of(input[0], false)};
    for (const at::Tensor& tensor : outputs) accesses.push_back(access_of(tensor, true));
    for (const at::Tensor& tensor : input) keep_for_stream(tensor);
    for (const at::Tensor& tensor : outputs) keep_for_stream(tensor);
    Part part{.given = {}, .outputs = outputs, .work = {}};
    ordering.run(stream_, accesses, [&] { part.given = on_host(input[0]).clone(); });
    // The first sum connects the ranks, and succeeds unless that is what hangs.
    part.work = c10::make_intrusive<FakeWork>(connects ? FakeNccl::kSums : fake_nccl.load(),
                                              device.index(), ordering.record(stream_));
    auto work = part.work;
    const std::lock_guard lock(mutex());
    const auto round = std::pair(job_, calls_++);
    if (fake_nccl == FakeNccl::kConnectionHangs && connects) return work;
    if (fake_nccl == FakeNccl::kNeverEnds && !connects) return work;
    auto& parts = rounds()[round];
    parts[rank_] = std::move(part);
    if (static_cast<int>(parts.size()) < size_) return work;
    write_results(parts, result);
    rounds().erase(round);
    return work;
  }

  static void write_results(const std::map<int, Part>& parts, const Result& result) {
    Values given;
    for (const auto& [rank, part] : parts) given.push_back(part.given);
    for (const auto& [rank, part] : parts) {
      const at::Tensor values = result(given, rank);
      for (std::size_t i = 0; i < part.outputs.size(); ++i) {
        const at::Tensor& output = part.outputs[i];
        on_host(output).copy_(part.outputs.size() > 1 ? values[static_cast<std::int64_t>(i)]
                                                      : values.reshape(output.sizes()));
      }
      part.work->written();
    }
  }

  /// As c10d does, so that the memory is not reused before the collective is done; the allocator
  /// does not know memory that it did not allocate.
  void keep_for_stream(const at::Tensor& tensor) const {
    const c10::DataPtr& memory = tensor.storage().data_ptr();
    const bool allocated = memory.get_deleter() == device_double::device_allocator()->raw_deleter();
    if (allocated) device_double::note_stream(memory, stream_);
  }

  static device_double::Ordering::Access access_of(const at::Tensor& tensor, bool writes) {
    const std::size_t begin = device_double::offset_of(tensor.data_ptr());
    return {begin, begin + tensor.nbytes(), writes};
  }
  /// Collectives take dense tensors.
  static at::Tensor on_host(const at::Tensor& tensor) {
    return torch::from_blob(device_double::open_address(tensor.data_ptr()), tensor.sizes(),
                            tensor.scalar_type());
  }

  /// Rank 0 names the group to the others through the store, as NCCL does.
  void connect(c10::Device device) {
    static std::atomic<int> groups{0};
    stream_ = device_double::number_of(
        c10::impl::VirtualGuardImpl(c10::kCUDA).getStreamFromGlobalPool(device));
    if (rank_ == 0) {
      job_ = ++groups;
      const std::string name = std::to_string(job_);
      store_->set("group", std::vector<std::uint8_t>(name.begin(), name.end()));
    } else {
      const auto name = store_->get("group");
      job_ = std::stoi(std::string(name.begin(), name.end()));
    }
  }

  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::map<std::pair<int, int>, std::map<int, Part>>& rounds() {
    static std::map<std::pair<int, int>, std::map<int, Part>> all;
    return all;
  }

  c10::intrusive_ptr<Store> store_;
  int rank_;
  int size_;
  int job_ = 0;
  int stream_ = 0;
  int calls_ = 0;
  bool down_ = false;
};

}  // namespace c10d
