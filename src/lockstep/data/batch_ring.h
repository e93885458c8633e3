#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "lockstep/data/loader.h"

namespace lockstep::data {

/// The buffers of a loader and the owner of each: the part of it that outlives the loader while a
/// consumer still keeps a batch. Micro-batches are claimed in order, each together with a free
/// buffer, so that a later one never starves an earlier one.
class BatchRing : public std::enable_shared_from_this<BatchRing> {
 public:
  BatchRing(std::shared_ptr<const Dataset> dataset, std::shared_ptr<const Transform> transform,
            const SamplerOptions& sampler, const LoaderOptions& options);

  void start_epoch(int epoch, std::int64_t first_step);
  std::optional<Batch> next(Seconds timeout);
  void release(std::size_t slot);
  std::int64_t steps() const { return sampler_.steps(); }

  /// Body of a prefetch thread: makes batches until stop().
  void run();
  void stop();

 private:
  template <class T>
  using Buffer = std::shared_ptr<T[]>;
  template <class T>
  Buffer<T> allocate(std::size_t count) const;

  struct Slot {
    Buffer<float> images;
    Buffer<std::uint8_t> bytes;  // instead of images, if asked for
    Buffer<std::int64_t> labels;
    Buffer<float> targets;
    MicroBatch part;
    bool ready = false;
    std::exception_ptr failure;
  };

  struct Scratch {
    FetchScratch fetch;
    TransformScratch transform;
  };

  using Lock = std::unique_lock<std::mutex>;
  bool can_claim() const { return claimed_ < total_ && !free_.empty(); }
  /// Takes the next micro-batch and a free buffer for it.
  std::size_t claim();
  /// Makes the batch of a claimed slot with the lock released.
  void make(std::size_t slot, Lock& lock, Scratch& scratch);
  void fill(Slot& slot, Scratch& scratch) const;
  Batch hand_out(std::size_t slot);
  std::size_t& slot_of(std::int64_t n) {
    return slots_of_[static_cast<std::size_t>(n) % slots_.size()];
  }

  std::shared_ptr<const Dataset> dataset_;
  std::shared_ptr<const Transform> transform_;
  LoaderOptions options_;
  std::size_t image_values_;
  std::size_t wake_at_;  // free buffers that make it worth waking a thread

  std::mutex mutex_;
  std::condition_variable work_;       // for prefetch threads
  std::condition_variable ready_;      // for the consumer
  std::atomic<bool> abandon_ = false;  // makes threads leave a batch half made

  // All below are guarded by mutex_.
  DistributedSampler sampler_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> free_;
  std::vector<std::size_t> slots_of_;  // slot of micro-batch n, at n modulo the number of slots
  std::int64_t total_ = 0;             // micro-batches of the epoch
  std::int64_t claimed_ = 0;           // those below have a slot
  std::int64_t taken_ = 0;             // those below went to the consumer
  std::int64_t awaited_ = -1;          // the one the consumer sleeps for
  int making_ = 0;
  int idle_threads_ = 0;
  bool draining_ = false;
  bool stopped_ = false;
  Scratch consumer_scratch_;
};

}  // namespace lockstep::data
