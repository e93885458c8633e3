#include "lockstep/data/batch_ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "lockstep/base/error.h"

namespace lockstep::data {
namespace {

constexpr std::align_val_t kAlignment{64};

/// Ends a batch that is no longer needed.
struct Abandoned {};

}  // namespace

template <class T>
BatchRing::Buffer<T> BatchRing::allocate(std::size_t count) const {
  const std::size_t bytes = count * sizeof(T);
  if (options_.allocate) {
    const std::shared_ptr<void> memory = options_.allocate(bytes);
    return Buffer<T>(memory, static_cast<T*>(memory.get()));
  }
  return Buffer<T>(static_cast<T*>(::operator new(bytes, kAlignment)),
                   [](T* memory) { ::operator delete(memory, kAlignment); });
}

BatchRing::BatchRing(std::shared_ptr<const Dataset> dataset,
                     std::shared_ptr<const Transform> transform, const SamplerOptions& sampler,
                     const LoaderOptions& options)
    : dataset_(std::move(dataset)),
      transform_(std::move(transform)),
      options_(options),
      image_values_(transform_->output_shape().values()),
      sampler_(sampler),
      slots_(static_cast<std::size_t>(options.ahead) + 1),
      slots_of_(slots_.size()) {
  // Waking a thread for every released buffer costs a context switch a batch; for every second one
  // or so, half of that, and the ring is still far from empty.
  wake_at_ = std::max<std::size_t>(1, slots_.size() / 2);
  const auto batch = static_cast<std::size_t>(std::min(sampler.batch, sampler.examples));
  const auto targets = static_cast<std::size_t>(dataset_->info().targets);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (options_.bytes) {
      slots_[i].bytes = allocate<std::uint8_t>(batch * image_values_);
    } else {
      slots_[i].images = allocate<float>(batch * image_values_);
    }
    slots_[i].labels = allocate<std::int64_t>(batch);
    if (targets > 0) slots_[i].targets = allocate<float>(batch * targets);
    free_.push_back(i);
  }
}

void BatchRing::start_epoch(int epoch, std::int64_t first_step) {
  Lock lock(mutex_);
  if (first_step < 0 || first_step > sampler_.steps()) {
    throw Error(ErrorKind::kUsage, fmt::format("step {} is not among the {} steps of an epoch",
                                               first_step, sampler_.steps()));
  }
  total_ = claimed_;  // no new claims
  abandon_ = true;
  draining_ = true;
  // No thread can stay in fill() longer than one example takes.
  ready_.wait(lock, [&] { return making_ == 0; });
  draining_ = false;
  abandon_ = false;
  for (std::int64_t n = taken_; n < claimed_; ++n) free_.push_back(slot_of(n));
  sampler_.set_epoch(epoch);
  total_ = sampler_.micro_batches();
  claimed_ = taken_ = first_step * sampler_.options().accumulate;
  lock.unlock();
  work_.notify_all();
}

std::size_t BatchRing::claim() {
  const std::size_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  slot.part = sampler_.micro_batch(claimed_);
  slot.ready = false;
  slot.failure = nullptr;
  slot_of(claimed_) = index;
  ++claimed_;
  ++making_;
  return index;
}

void BatchRing::make(std::size_t index, Lock& lock, Scratch& scratch) {
  Slot& slot = slots_[index];
  const std::int64_t n = claimed_ - 1;
  lock.unlock();
  std::exception_ptr failure;
  try {
    fill(slot, scratch);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  slot.failure = failure;
  slot.ready = true;
  --making_;
  if (awaited_ == n || (draining_ && making_ == 0)) ready_.notify_one();
}

void BatchRing::fill(Slot& slot, Scratch& scratch) const {
  const auto targets = static_cast<std::size_t>(dataset_->info().targets);
  for (std::size_t i = 0; i < slot.part.indices.size(); ++i) {
    if (abandon_.load(std::memory_order_relaxed)) throw Abandoned{};
    const std::int64_t index = slot.part.indices[i];
    const Example example = dataset_->fetch(index, scratch.fetch);
    const Rng rng = augmentation_rng(options_.seed, sampler_.epoch(), index);
    const std::size_t at = i * image_values_;
    if (options_.bytes) {
      transform_->apply_to_bytes(example.image, rng, slot.bytes.get() + at, scratch.transform);
    } else {
      transform_->apply(example.image, rng, slot.images.get() + at, scratch.transform);
    }
    slot.labels[i] = example.label;
    std::copy_n(example.targets.begin(), targets, slot.targets.get() + i * targets);
  }
}

std::optional<Batch> BatchRing::next(Seconds timeout) {
  Lock lock(mutex_);
  if (taken_ == total_) return std::nullopt;
  if (taken_ == claimed_) {
    if (free_.empty()) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("all {} batch buffers are in use: release a batch before requesting "
                              "the next, or raise the loader's prefetch depth",
                              slots_.size()));
    }
    make(claim(), lock, consumer_scratch_);
  }
  const std::size_t index = slot_of(taken_);
  Slot& slot = slots_[index];
  if (!slot.ready) {
    awaited_ = taken_;
    const bool in_time = ready_.wait_for(lock, timeout, [&] { return slot.ready; });
    awaited_ = -1;
    if (!in_time) {
      throw Error(ErrorKind::kInternal, fmt::format("input of step {} was not ready after {}",
                                                    slot.part.step, format_seconds(timeout)));
    }
  }
  if (slot.failure) std::rethrow_exception(slot.failure);
  ++taken_;
  return hand_out(index);
}

Batch BatchRing::hand_out(std::size_t index) {
  const Slot& slot = slots_[index];
  Batch batch;
  batch.ring_ = shared_from_this();
  batch.slot_ = index;
  batch.images_ = slot.images.get();
  batch.bytes_ = slot.bytes.get();
  batch.labels_ = slot.labels.get();
  batch.targets_ = slot.targets.get();
  batch.count_ = static_cast<std::int64_t>(slot.part.indices.size());
  batch.step_count_ = slot.part.step_count;
  batch.global_count_ = slot.part.global_count;
  batch.first_ = slot.part.first;
  batch.step_ = slot.part.step;
  batch.micro_ = slot.part.micro;
  return batch;
}

void BatchRing::release(std::size_t slot) {
  bool wake = false;
  {
    const Lock lock(mutex_);
    free_.push_back(slot);
    wake = idle_threads_ > 0 && claimed_ < total_ && free_.size() >= wake_at_;
  }
  if (wake) work_.notify_all();
}

void BatchRing::run() {
  Scratch scratch;
  Lock lock(mutex_);
  while (true) {
    ++idle_threads_;
    work_.wait(lock, [&] { return stopped_ || can_claim(); });  // stop() always ends it
    --idle_threads_;
    while (!stopped_ && can_claim()) make(claim(), lock, scratch);
    if (stopped_) return;
  }
}

void BatchRing::stop() {
  {
    const Lock lock(mutex_);
    stopped_ = true;
    abandon_ = true;
  }
  work_.notify_all();
}

}  // namespace lockstep::data
