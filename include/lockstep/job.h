#pragma once

#include <torch/torch.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/base/error.h"
#include "lockstep/sampler.h"

namespace lockstep {

namespace library {
class JobState;
}

struct JoinOptions {
  /// Longest wait for another rank. A rank that does not arrive by then is named, and all ranks
  /// end. LOCKSTEP_TIMEOUT, in seconds, replaces it.
  std::chrono::duration<double> timeout{300};
  /// "auto": NCCL on GPUs, shared memory within a host, Gloo between hosts. Or one of "shm",
  /// "gloo", "hierarchical", "nccl", "mpi" (for ranks that mpirun or `srun --mpi=pmix` started).
  /// LOCKSTEP_BACKEND replaces it.
  std::string backend = "auto";
  /// Has the allocator keep freed memory. A step frees and allocates the same large tensors again
  /// and again, and by default each comes as fresh pages from the kernel.
  bool keep_freed_memory = true;
};

/// The ranks that train together, seen from one of them. A handle: copies refer to the same job,
/// which ends for this rank when the last copy is gone.
///
/// Functions marked "collective" must be called by all ranks in the same order, from one thread per
/// rank; they block until all have arrived. They throw Error of kind kPeer, with the same cause on
/// all ranks, when a rank is dead, failed or did not arrive within the timeout. The job cannot be
/// used after that, and a process that has not ended 10 s later is ended with exit code 5.
class Job {
 public:
  explicit Job(std::shared_ptr<library::JobState> state);

  /// From 0 to size() - 1.
  int rank() const;
  int size() const;
  /// The same among the ranks of this host.
  int local_rank() const;
  int local_size() const;
  /// Whether this is rank 0, which prints, and writes files.
  bool is_main() const { return rank() == 0; }
  /// The GPU of this rank where LibTorch has CUDA and there is one: the only one that the process
  /// sees, else the one with the number of the local rank; join() makes it the current one of the
  /// calling thread. Otherwise the CPU.
  torch::Device device() const;
  /// What carries the data: "shm", "gloo", ...; "none" for one rank.
  std::string backend() const;

  /// Collective.
  void barrier();

  /// Metrics over all ranks. Collective; every rank gets the same result, summed in rank order.
  double sum(double value);
  double mean(double value) { return sum(value) / size(); }
  /// One value per rank, in rank order.
  std::vector<double> gather(double value);
  /// Tensors of the same shape and type on all ranks, stacked along a new first dimension.
  torch::Tensor gather(const torch::Tensor& tensor);
  /// Replaces the tensor by its sum or mean over ranks.
  void sum_(torch::Tensor& tensor);
  void mean_(torch::Tensor& tensor);

  /// Replaces the tensor by that of `root`; the same shape and type on all ranks. Collective.
  void broadcast_(torch::Tensor& tensor, int root = 0);
  /// The bytes of `root`, of any length. For small objects: serialise them into text. Collective.
  std::string broadcast(const std::string& bytes, int root = 0);

  /// Which examples this rank trains on in each epoch; see Sampler.
  Sampler sampler(std::size_t examples, std::uint64_t seed = 0, SamplerOptions options = {}) const;

  /// Prints one line on standard output, on rank 0 alone.
  void print(const std::string& line) const;

  /// Records a figure of the current epoch, for example "train_loss" or "val_accuracy". `lockstep
  /// run` and `lockstep study` keep it with the run, and `lockstep serve` draws it while the run
  /// goes on; without them it goes nowhere. The last value of a name counts for the epoch; losses
  /// that are logged more often also make a curve within it. The value of rank 0 counts: average
  /// it first. Not collective.
  void log(const std::string& name, double value);

  /// The epoch of what follows, counted from 1, for the record: in programs without batches(), and
  /// where training goes on from a checkpoint. Not collective.
  void set_epoch(int epoch);

  /// Times the passes over a data loader: waiting for a batch becomes the input phase of a step,
  /// and each pass counts as one epoch. `for (auto& batch : job.batches(*loader))`
  template <class Loader>
  class Batches;
  template <class Loader>
  Batches<Loader> batches(Loader& loader) {
    return Batches<Loader>(*this, loader);
  }

  /// optimizer.step(), with a closure if there is one, timed as the optimizer phase of the step.
  template <class Optimizer, class... Closure>
  auto step(Optimizer& optimizer, Closure&&... closure) {
    const StepTimer timer(*this);
    return optimizer.step(std::forward<Closure>(closure)...);
  }

  library::JobState& state() const { return *state_; }

 private:
  /// Gives the time of its life to the optimizer phase.
  class StepTimer {
   public:
    explicit StepTimer(Job& job);
    ~StepTimer();

   private:
    Job& job_;
  };

  void begin_epoch();
  void before_fetch();
  void after_fetch(std::int64_t examples);

  std::shared_ptr<library::JobState> state_;
};

/// Joins the ranks of this job: finds rank and size in the environment of `lockstep run`, torchrun,
/// mpirun or srun, and connects the ranks. Without any of these, a job of one rank. Call it first
/// in main, before anything that starts threads: where LOCKSTEP_WORKERS=N is set (`lockstep run -n
/// N` sets it) and nothing else started ranks, it starts N copies of this program and this process
/// only waits for them. Blocks until all ranks have joined. Throws Error: kUsage for a
/// contradicting environment, kPeer naming ranks that are missing.
///
/// An exception that main does not catch is printed as one error, reported to the other ranks and
/// ends the process with the exit code of its kind.
Job join(int argc, char** argv, const JoinOptions& options = {});

template <class Loader>
class Job::Batches {
 public:
  using Base = decltype(std::declval<Loader&>().begin());

  class Iterator {
   public:
    Iterator(Job* job, Base base) : job_(job), base_(std::move(base)) {}
    decltype(auto) operator*() { return *base_; }
    Iterator& operator++() {
      job_->before_fetch();
      ++base_;
      fetched_ = true;
      return *this;
    }
    bool operator!=(const Iterator& other) {
      const bool more = base_ != other.base_;
      if (fetched_) job_->after_fetch(more ? examples_of(*base_, 0) : -1);
      fetched_ = false;
      return more;
    }

   private:
    friend class Batches;
    /// Of torch::data::Example batches the first dimension; unknown for others.
    template <class Batch>
    static auto examples_of(Batch& batch, int) -> decltype(batch.data.size(0)) {
      return batch.data.size(0);
    }
    template <class Batch>
    static std::int64_t examples_of(Batch&, long) {
      return 0;
    }

    Job* job_;
    Base base_;
    bool fetched_ = false;
  };

  Batches(Job& job, Loader& loader) : job_(job), loader_(loader) {}
  Iterator begin() {
    job_.begin_epoch();
    Iterator first(&job_, loader_.begin());
    first.fetched_ = true;
    return first;
  }
  Iterator end() { return Iterator(&job_, loader_.end()); }

 private:
  Job& job_;
  Loader& loader_;
};

}  // namespace lockstep
