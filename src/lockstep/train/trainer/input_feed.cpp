#include "lockstep/train/trainer/input_feed.h"

#include <utility>

namespace lockstep::train {
namespace {

/// Buffers that may still be on their way to the device, besides the one prefetched.
constexpr std::size_t kLeaving = 2;

data::LoaderOptions for_device(const Device& device, const data::Transform& transform,
                               data::LoaderOptions options) {
  options.allocate = device.page_locked_memory();
  options.bytes = !device.is_cpu() && transform.byte_scaling() != nullptr;
  return options;
}

/// One value per channel, on the device, in the shape of a batch of images.
torch::Tensor by_channel(const std::vector<float>& values, const Device& device) {
  return torch::tensor(values).view({1, -1, 1, 1}).to(device.torch());
}

}  // namespace

InputFeed::InputFeed(std::shared_ptr<const data::Dataset> dataset,
                     std::shared_ptr<const data::Transform> transform,
                     const data::SamplerOptions& sampler, data::LoaderOptions options,
                     Device& device, const Clock& clock, Seconds timeout)
    : transform_(transform),
      targets_(dataset->info().targets),
      device_(device),
      clock_(clock),
      timeout_(timeout),
      loader_(dataset, transform, sampler, for_device(device, *transform, std::move(options))) {
  const data::ByteScaling* scaling = transform->byte_scaling();
  if (device.is_cpu() || scaling == nullptr) return;
  scale_ = by_channel(scaling->scale, device);
  shift_ = by_channel(scaling->shift, device);
}

InputFeed::~InputFeed() {
  try {
    wait_for_copies();
  } catch (const std::exception&) {
    // After a failure every call of a GPU fails. It has been thrown already, and a second exception
    // would end the process before anyone reads the first.
  }
}

void InputFeed::start_epoch(int epoch, std::int64_t first_step) {
  current_.reset();
  wait_for_copies();
  loader_.start_epoch(epoch, first_step);
}

void InputFeed::wait_for_copies() {
  if (ahead_) leaving_.push_back(*std::exchange(ahead_, std::nullopt));
  for (; !leaving_.empty(); leaving_.pop_front()) {
    Device::wait_until_left(leaving_.front().shipment);
  }
}

std::optional<Minibatch> InputFeed::next(std::int64_t step) {
  std::optional<Sent> sent = ahead_ ? std::exchange(ahead_, std::nullopt) : send_next();
  if (!sent) return std::nullopt;
  waited_s_ = sent->waited_s;
  device_.receive(sent->shipment);
  Minibatch part = std::move(sent->part);
  part.step = step;
  if (part.count > 0) {
    part.images = sent->shipment.tensors[0];
    if (scale_.defined()) part.images = part.images.to(torch::kFloat).mul_(scale_).add_(shift_);
    part.labels = sent->shipment.tensors[1];
    if (part.targets.defined()) part.targets = sent->shipment.tensors[2];
  }
  if (device_.is_cpu()) {
    current_ = std::move(sent->batch);
  } else {
    sent->shipment.tensors.clear();
    leaving_.push_back(std::move(*sent));
  }
  return part;
}

void InputFeed::prefetch() {
  if (device_.is_cpu() || ahead_) return;
  ahead_ = send_next();
}

std::optional<InputFeed::Sent> InputFeed::send_next() {
  release_copied();
  const Nanoseconds began = clock_.monotonic();
  auto batch = loader_.next(timeout_);
  if (!batch) return std::nullopt;
  Sent sent{.batch = std::move(*batch), .part = {}, .shipment = {}, .waited_s = 0};
  sent.waited_s = static_cast<double>(clock_.monotonic() - began) * 1e-9;
  sent.part = minibatch_of(sent.batch, *transform_, targets_);
  if (sent.part.count == 0) return sent;
  std::vector<torch::Tensor> tensors{sent.part.images, sent.part.labels};
  if (sent.part.targets.defined()) tensors.push_back(sent.part.targets);
  sent.shipment = device_.ship(tensors);
  return sent;
}

void InputFeed::release_copied() {
  while (!leaving_.empty()) {
    if (leaving_.size() <= kLeaving && !Device::left(leaving_.front().shipment)) return;
    Device::wait_until_left(leaving_.front().shipment);
    leaving_.pop_front();
  }
}

}  // namespace lockstep::train
