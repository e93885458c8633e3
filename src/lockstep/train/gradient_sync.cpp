#include "lockstep/train/gradient_sync.h"

#include <torch/csrc/autograd/function_hook.h>

#include <algorithm>
#include <cstring>

#include "lockstep/train/sum_of_squares.h"

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
      flat_(
          communicator.allocate_rounded(plan_.total, options.wire, plan_.total - plan_.tail_begin)),
      arrivals_(parameters_.size()),
      bucket_open_(plan_.buckets.size()) {
  const auto flat = torch::from_blob(flat_.data(), {static_cast<std::int64_t>(flat_.size())});
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& parameter = parameters_[i];
    slots_.push_back(flat.as_strided(parameter.sizes(), parameter.strides(),
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
  std::fill(flat_.begin() + static_cast<std::ptrdiff_t>(plan_.tail_begin), flat_.end(), 0.0F);
  active_ = true;
}

std::span<float> GradientSync::tail() {
  return flat_.subspan(plan_.tail_begin);
}

void GradientSync::take(std::size_t parameter) {
  if (!active_) return;
  auto& grad = parameters_[parameter].mutable_grad();
  auto& slot = slots_[parameter];
  if (arrivals_[parameter] > 0) {
    slot.add_(grad.to(slot.device()));
  } else if (grad.is_cpu() && grad.is_contiguous() && slot.is_contiguous() && grad.scalar_type() == torch::kFloat) {
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
    if (options_.strategy == Strategy::kCentral) continue;
    communicator_.start_sum(flat_.subspan(bucket.begin, bucket.end - bucket.begin));
  }
  communicator_.progress();
}

void GradientSync::add_squares(const comm::BucketPlan::Bucket& bucket) {
  const std::size_t end = std::min(bucket.end, plan_.tail_begin);
  squares_ += sum_of_squares(flat_.data() + bucket.begin, end - bucket.begin);
  if (bucket.end == plan_.total) {
    tail()[*options_.norm_slot] = static_cast<float>(norm_weight_ * squares_);
  }
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
  if (options_.strategy == Strategy::kCentral) {
    communicator_.sum_to_root(flat_, 0);
  } else {
    communicator_.finish();
  }
}

}  // namespace lockstep::train
