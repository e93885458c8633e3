#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "lockstep/base/clock.h"
#include "lockstep/base/units.h"
#include "lockstep/data/loader.h"
#include "lockstep/train/recipes/minibatch.h"
#include "lockstep/train/sync/device.h"

namespace lockstep::train {

/// The micro-batches of a loader, on the device. On a GPU the loader's buffers are page-locked and
/// copied on a stream of their own: the next one while the device still computes, if prefetch() is
/// called. Images are copied as bytes and normalised on the device where the transform allows it,
/// with the bits that the host would compute. One thread; the device must outlive it.
class InputFeed {
 public:
  /// `timeout`: longest wait for the loader.
  InputFeed(std::shared_ptr<const data::Dataset> dataset,
            std::shared_ptr<const data::Transform> transform, const data::SamplerOptions& sampler,
            data::LoaderOptions options, Device& device, const Clock& clock, Seconds timeout);
  /// Waits for copies that are under way, unless the device has failed.
  ~InputFeed();

  /// Begins an epoch (from 1) at a step (from 0).
  void start_epoch(int epoch, std::int64_t first_step = 0);

  /// The next micro-batch, for step `step` of the run; nothing at the end of the epoch. Blocks
  /// until the loader has it. On a CPU its tensors are valid until release().
  std::optional<Minibatch> next(std::int64_t step);

  /// How long the host waited for the loader, for the micro-batch of the last next().
  double waited_s() const { return waited_s_; }

  /// The tensors of the last next() are not used any more.
  void release() { current_.reset(); }

  /// Begins to copy the next micro-batch to the device. Does nothing on a CPU, where there is
  /// nothing to copy, and at the end of an epoch. Blocks until the loader has it.
  void prefetch();

  std::int64_t steps_per_epoch() const { return loader_.steps_per_epoch(); }

 private:
  /// A micro-batch and what is on its way of it.
  struct Sent {
    data::Batch batch;
    Minibatch part;
    Device::Shipment shipment;
    double waited_s = 0;
  };
  std::optional<Sent> send_next();
  void release_copied();
  void wait_for_copies();

  std::shared_ptr<const data::Transform> transform_;
  int targets_;
  torch::Tensor scale_, shift_;  ///< by channel, on the device; of bytes
  Device& device_;
  const Clock& clock_;
  Seconds timeout_;
  data::Loader loader_;
  std::optional<Sent> ahead_;
  std::deque<Sent> leaving_;  ///< received, but the loader's buffer may still be read
  std::optional<data::Batch> current_;
  double waited_s_ = 0;
};

}  // namespace lockstep::train
