#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "lockstep/base/units.h"
#include "lockstep/data/augment/transform.h"
#include "lockstep/data/dataset.h"
#include "lockstep/data/sampler.h"

namespace lockstep::data {

class BatchRing;

/// One micro-batch, ready for the network. The memory is the loader's: it is used again once the
/// handle is released or destroyed. Move-only; may outlive the loader; any thread may release it.
class Batch {
 public:
  Batch() = default;
  Batch(Batch&& other) noexcept;
  Batch& operator=(Batch&& other) noexcept;
  ~Batch();

  /// count() images in the transform's shape and order; 64-byte aligned.
  float* images() const { return images_; }
  /// The same before the transform's byte_scaling(), where LoaderOptions asks for bytes; images()
  /// is then null.
  std::uint8_t* bytes() const { return bytes_; }
  std::int64_t* labels() const { return labels_; }
  /// count() x DatasetInfo::targets values; null for a classification.
  float* targets() const { return targets_; }
  std::int64_t count() const { return count_; }                ///< examples here; may be 0
  std::int64_t step_count() const { return step_count_; }      ///< of this rank in the whole step
  std::int64_t global_count() const { return global_count_; }  ///< of all ranks in the whole step
  std::int64_t first() const { return first_; }  ///< place of its first example among those
  std::int64_t step() const { return step_; }    ///< of the epoch, from 0
  int micro() const { return micro_; }           ///< 0 .. A-1

  /// Gives the memory back now. The pointers are void from here on.
  void release();

 private:
  friend class BatchRing;
  std::shared_ptr<BatchRing> ring_;
  std::size_t slot_ = 0;
  float* images_ = nullptr;
  std::uint8_t* bytes_ = nullptr;
  std::int64_t* labels_ = nullptr;
  float* targets_ = nullptr;
  std::int64_t count_ = 0;
  std::int64_t step_count_ = 0;
  std::int64_t global_count_ = 0;
  std::int64_t first_ = 0;
  std::int64_t step_ = 0;
  int micro_ = 0;
};

struct LoaderOptions {
  /// Prefetch threads; 0 = every batch is made inside next().
  int threads = 1;
  /// Batches made ahead, each in its own buffer. A consumer may keep one more at a time.
  int ahead = 4;
  std::uint64_t seed = 1;  ///< of augmentation
  /// Leave the transform's byte_scaling(), which there must be, to the consumer.
  bool bytes = false;
  /// Where buffers come from, aligned to 64 bytes; empty = ordinary memory. Devices copy from
  /// page-locked memory while the host goes on.
  std::function<std::shared_ptr<void>(std::size_t bytes)> allocate{};
};

/// Makes batches ahead of the consumer, in the sampler's order for any number of threads.
/// Memory is allocated once. When the next batch is not begun, next() makes it itself rather than
/// wait for a thread to be scheduled. Used by one thread; start_epoch() first.
class Loader {
 public:
  Loader(std::shared_ptr<const Dataset> dataset, std::shared_ptr<const Transform> transform,
         const SamplerOptions& sampler, const LoaderOptions& options);
  /// Stops the threads; waits for the batches they are at.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Begins an epoch (from 1) at a step (from 0), dropping what is left of the one before.
  /// Prefetching starts at once.
  void start_epoch(int epoch, std::int64_t first_step = 0);

  /// The next micro-batch, or nothing at the end of the epoch. Rethrows what went wrong while
  /// making it, again on every further call until start_epoch(). Throws kInternal when it takes
  /// longer than `timeout`, and kUsage when the consumer keeps all buffers.
  std::optional<Batch> next(Seconds timeout = Seconds(60));

  std::int64_t steps_per_epoch() const;

 private:
  std::shared_ptr<BatchRing> ring_;
  std::vector<std::thread> threads_;
};

}  // namespace lockstep::data
