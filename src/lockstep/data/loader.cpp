#include "lockstep/data/loader.h"

#include <fmt/format.h>

#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/data/batch_ring.h"

namespace lockstep::data {

Batch::Batch(Batch&& other) noexcept {
  *this = std::move(other);
}

Batch& Batch::operator=(Batch&& other) noexcept {
  if (this == &other) return *this;
  release();
  ring_ = std::move(other.ring_);
  slot_ = other.slot_;
  images_ = std::exchange(other.images_, nullptr);
  bytes_ = std::exchange(other.bytes_, nullptr);
  labels_ = std::exchange(other.labels_, nullptr);
  targets_ = std::exchange(other.targets_, nullptr);
  count_ = other.count_;
  step_count_ = other.step_count_;
  global_count_ = other.global_count_;
  first_ = other.first_;
  step_ = other.step_;
  micro_ = other.micro_;
  return *this;
}

Batch::~Batch() {
  release();
}

void Batch::release() {
  if (const auto ring = std::exchange(ring_, nullptr)) ring->release(slot_);
  images_ = targets_ = nullptr;
  bytes_ = nullptr;
  labels_ = nullptr;
}

Loader::Loader(std::shared_ptr<const Dataset> dataset, std::shared_ptr<const Transform> transform,
               const SamplerOptions& sampler, const LoaderOptions& options) {
  if (options.threads < 0 || options.ahead < 1) {
    throw Error(ErrorKind::kUsage,
                fmt::format("a loader cannot run with {} threads and {} batches ahead",
                            options.threads, options.ahead));
  }
  if (sampler.examples > dataset->size()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("a sampler of {} examples does not match a dataset of {}",
                            sampler.examples, dataset->size()));
  }
  if (options.bytes && transform->byte_scaling() == nullptr) {
    throw Error(ErrorKind::kUsage, "this transform does not end with a scaling of bytes");
  }
  ring_ = std::make_shared<BatchRing>(std::move(dataset), std::move(transform), sampler, options);
  for (int i = 0; i < options.threads; ++i) {
    threads_.emplace_back([ring = ring_.get()] { ring->run(); });
  }
}

Loader::~Loader() {
  ring_->stop();
  for (std::thread& thread : threads_) thread.join();
}

void Loader::start_epoch(int epoch, std::int64_t first_step) {
  ring_->start_epoch(epoch, first_step);
}

std::optional<Batch> Loader::next(Seconds timeout) {
  return ring_->next(timeout);
}

std::int64_t Loader::steps_per_epoch() const {
  return ring_->steps();
}

}  // namespace lockstep::data
