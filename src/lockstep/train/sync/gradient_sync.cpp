#include "lockstep/train/sync/gradient_sync.h"

#include <torch/csrc/autograd/function_hook.h>

#include <algorithm>
#include <cstring>

#include "lockstep/train/optim/sum_of_squares.h"
#include "lockstep/train/sync/flat_parameters.h"

namespace lockstep::train {

/// Called by autograd after it has set a parameter's gradient.
class GradientSync::Hook final : public torch::autograd::FunctionPostHook {
 public:
  Hook(GradientSync& sync, std::size_t parameter) : sync_(sync), parameter_(parameter) {}

  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    sync_.take(parameter_);
    return outputs;
  }

 private:
  GradientSync& sync_;
  std::size_t parameter_;
};

GradientSync::GradientSync(std::vector<torch::Tensor> parameters, comm::BucketPlan plan,
                           comm::Communicator& communicator, const SyncOptions& options,
                           const Clock& clock)
    : parameters_(std::move(parameters)),
      plan_(std::move(plan)),
      communicator_(communicator),
      options_(options),
      clock_(clock),
      shared_(
          communicator.allocate_rounded(plan_.total, options.wire, plan_.total - plan_.tail_begin)),
      arrivals_(parameters_.size()),
      bucket_open_(plan_.buckets.size()) {
  const torch::Device device = common_device(parameters_);
  const auto count = static_cast<std::int64_t>(plan_.total);
  on_device_ = !device.is_cpu() || options.as_on_device;
  apart_ = on_device_ && communicator.residence() == comm::Residence::kHost;
  const auto where = torch::TensorOptions().device(device);
  flat_ = apart_ ? torch::zeros({count}, where) : torch::from_blob(shared_.data(), {count}, where);
  if (on_device_) {
    tail_.resize(plan_.total - plan_.tail_begin);
    squares_on_device_ = torch::zeros({}, where);
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& parameter = parameters_[i];
    slots_.push_back(flat_.as_strided(parameter.sizes(), parameter.strides(),
                                      static_cast<std::int64_t>(plan_.offset_of[i])));
    accumulators_.push_back(torch::autograd::impl::grad_accumulator(parameter));
    hook_keys_.push_back(accumulators_.back()->add_post_hook(std::make_unique<Hook>(*this, i)));
  }
}

GradientSync::~GradientSync() {
  for (std::size_t i = 0; i < accumulators_.size(); ++i) {
    accumulators_[i]->del_post_hook(hook_keys_[i]);
  }
}

void GradientSync::begin_step(int micro_steps) {
  micro_steps_ = micro_steps;
  std::fill(arrivals_.begin(), arrivals_.end(), 0);
  for (std::size_t b = 0; b < plan_.buckets.size(); ++b) {
    bucket_open_[b] = plan_.buckets[b].parameters.size();
  }
  next_bucket_ = 0;
  handed_over_.clear();
  squares_ = 0;
  if (squares_on_device_.defined()) squares_on_device_.zero_();
  std::fill(tail().begin(), tail().end(), 0.0F);
  active_ = true;
}

std::span<float> GradientSync::tail() {
  return on_device_ ? std::span(tail_) : shared_.subspan(plan_.tail_begin);
}

void GradientSync::take(std::size_t parameter) {
  if (!active_) return;
  auto& grad = parameters_[parameter].mutable_grad();
  auto& slot = slots_[parameter];
  if (arrivals_[parameter] > 0) {
    slot.add_(grad);
  } else if (grad.is_cpu() && grad.is_contiguous() && slot.is_contiguous() &&
             grad.scalar_type() == torch::kFloat) {
    std::memcpy(slot.data_ptr<float>(), grad.data_ptr<float>(),
                static_cast<std::size_t>(grad.numel()) * sizeof(float));
  } else {
    slot.copy_(grad);
  }
  // Autograd then hands over its next gradient instead of adding to this one, and the memory is
  // free for the rest of backward.
  grad.reset();
  if (++arrivals_[parameter] < micro_steps_) return;
  --bucket_open_[plan_.bucket_of[parameter]];
  if (options_.strategy == Strategy::kOverlap) start_full_buckets();
}

void GradientSync::start_full_buckets() {
  while (next_bucket_ < plan_.buckets.size() && bucket_open_[next_bucket_] == 0) {
    const auto& bucket = plan_.buckets[next_bucket_++];
    handed_over_.push_back(clock_.monotonic());
    if (options_.strategy == Strategy::kLocal) continue;
    if (options_.norm_slot && communicator_.size() > 1) add_squares(bucket);
    if (bucket.end == plan_.total) write_tail();
    if (options_.strategy != Strategy::kCentral) start_sum(bucket);
  }
  communicator_.progress();
}

void GradientSync::add_squares(const comm::BucketPlan::Bucket& bucket) {
  const std::size_t end = std::min(bucket.end, plan_.tail_begin);
  if (!on_device_) {
    squares_ += sum_of_squares(shared_.data() + bucket.begin, end - bucket.begin);
  } else {
    squares_on_device_ += part(bucket.begin, end).square().sum();
  }
}

/// Adds the tail of the host to the last bucket. Squares that are still being computed on a
/// device do so there: nobody waits for them.
void GradientSync::write_tail() {
  const bool with_norm = options_.norm_slot && communicator_.size() > 1;
  if (!on_device_) {
    if (with_norm) tail()[*options_.norm_slot] = static_cast<float>(norm_weight_ * squares_);
    return;
  }
  const auto on_device = part(plan_.tail_begin, plan_.total);
  on_device.copy_(torch::from_blob(tail_.data(), {static_cast<std::int64_t>(tail_.size())}));
  if (with_norm) {
    on_device[static_cast<std::int64_t>(*options_.norm_slot)] = squares_on_device_ * norm_weight_;
  }
}

void GradientSync::read_tail() {
  if (!on_device_ || options_.strategy == Strategy::kLocal) return;
  torch::from_blob(tail_.data(), {static_cast<std::int64_t>(tail_.size())})
      .copy_(part(plan_.tail_begin, plan_.total));
}

void GradientSync::start_sum(const comm::BucketPlan::Bucket& bucket) {
  if (communicator_.size() == 1) return;
  if (apart_) shared_part(bucket.begin, bucket.end).copy_(part(bucket.begin, bucket.end));
  communicator_.start_sum(shared_.subspan(bucket.begin, bucket.end - bucket.begin));
}

torch::Tensor GradientSync::part(std::size_t begin, std::size_t end) const {
  return flat_.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end - begin));
}

torch::Tensor GradientSync::shared_part(std::size_t begin, std::size_t end) const {
  return torch::from_blob(shared_.data() + begin, {static_cast<std::int64_t>(end - begin)});
}

void GradientSync::hand_over_rest() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (arrivals_[i] >= micro_steps_) continue;
    // Backward did not reach this parameter, in this step or in some of its micro-steps.
    if (arrivals_[i] == 0) slots_[i].zero_();
    arrivals_[i] = micro_steps_;
    --bucket_open_[plan_.bucket_of[i]];
  }
  active_ = false;
  start_full_buckets();
}

void GradientSync::finish() {
  if (active_) hand_over_rest();
  if (options_.strategy == Strategy::kLocal || communicator_.size() == 1) {
    read_tail();
    return;
  }
  if (options_.strategy == Strategy::kCentral) {
    if (apart_) shared_part(0, plan_.total).copy_(flat_);
    communicator_.sum_to_root(shared_, 0);
  } else {
    communicator_.finish();
  }
  if (apart_) flat_.copy_(shared_part(0, plan_.total));
  read_tail();
}

}  // namespace lockstep::train
