#include "lockstep/train/sync/gradient_sync.h"

#include <torch/csrc/autograd/function_hook.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/comm/wire/shares.h"
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
      scale_(torch::scalar_tensor(options.scale, torch::kFloat)),
      shared_(
          communicator.allocate_rounded(plan_.total, options.wire, plan_.total - plan_.tail_begin)),
      accumulators_(parameters_.size()),
      hook_keys_(parameters_.size()),
      arrivals_(parameters_.size()),
      bucket_open_(plan_.buckets.size()) {
  const torch::Device device = common_device(parameters_);
  const auto count = static_cast<std::int64_t>(plan_.total);
  on_device_ = !device.is_cpu() || options.as_on_device;
  apart_ = on_device_ && communicator.residence() == comm::Residence::kHost;
  if (apart_) page_lock_ = PageLock(shared_, device);
  const auto where = torch::TensorOptions().device(device);
  flat_ = apart_ ? torch::zeros({count}, where) : torch::from_blob(shared_.data(), {count}, where);
  if (on_device_) {
    const std::size_t tail = plan_.total - plan_.tail_begin;
    tail_ = page_locked_floats(tail, device);
    results_.emplace(tail + 1, device);
    squares_on_device_ = torch::zeros({}, where);
  }
  make_slots();
  hook_up();
}

/// What gives a parameter new memory, torch::load() for example, gives it a new accumulator without
/// our hook.
void GradientSync::hook_up() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].requires_grad()) continue;  // frozen for now: it has no accumulator
    auto accumulator = torch::autograd::impl::grad_accumulator(parameters_[i]);
    if (accumulator == accumulators_[i]) continue;
    if (accumulators_[i]) accumulators_[i]->del_post_hook(hook_keys_[i]);
    hook_keys_[i] = accumulator->add_post_hook(std::make_unique<Hook>(*this, i));
    accumulators_[i] = std::move(accumulator);
  }
}

void GradientSync::skip(std::span<const std::size_t> parameters) {
  for (const std::size_t i : parameters) {
    skipped_[i] = true;
    zero_missing(i);
    --bucket_open_[plan_.bucket_of[i]];
  }
}

void GradientSync::make_slots() {
  slots_.clear();
  auto* const begin = static_cast<float*>(flat_.data_ptr());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& parameter = parameters_[i];
    // Not as_strided(): optimizers detach gradients in place, which autograd's views refuse.
    slots_.push_back(torch::from_blob(begin + plan_.offset_of[i], parameter.sizes(),
                                      parameter.strides(), flat_.options()));
  }
}

void GradientSync::relayout(comm::BucketPlan plan) {
  const auto before = flat_.clone();
  const std::vector<std::size_t> offsets = std::exchange(plan_, std::move(plan)).offset_of;
  make_slots();
  // What lies between slots is summed too: what was left there would grow from step to step.
  part(0, plan_.tail_begin).zero_();
  const auto* const begin = static_cast<const float*>(flat_.data_ptr());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    auto& grad = parameters_[i].mutable_grad();
    const bool is_view = grad.defined() && grad.data_ptr() == begin + offsets[i];
    slots_[i].copy_(before.as_strided(slots_[i].sizes(), slots_[i].strides(),
                                      static_cast<std::int64_t>(offsets[i])));
    if (is_view) grad = slots_[i];
  }
  bucket_open_.resize(plan_.buckets.size());
}

void GradientSync::rebucket(comm::BucketPlan plan) {
  plan_ = std::move(plan);
  bucket_open_.resize(plan_.buckets.size());
}

GradientSync::~GradientSync() {
  for (std::size_t i = 0; i < accumulators_.size(); ++i) {
    if (accumulators_[i]) accumulators_[i]->del_post_hook(hook_keys_[i]);
  }
}

void GradientSync::begin_step(int micro_steps) {
  hook_up();
  micro_steps_ = micro_steps;
  std::fill(arrivals_.begin(), arrivals_.end(), 0);
  arrival_order_.clear();
  skipped_.assign(parameters_.size(), false);
  for (std::size_t b = 0; b < plan_.buckets.size(); ++b) {
    bucket_open_[b] = plan_.buckets[b].parameters.size();
  }
  next_bucket_ = 0;
  handed_over_.clear();
  squares_ = 0;
  if (squares_on_device_.defined()) squares_on_device_.zero_();
  added_to_tail_.reset();
  std::fill(tail().begin(), tail().end(), 0.0F);
  active_ = true;
}

std::span<float> GradientSync::tail() {
  if (!on_device_) return shared_.subspan(plan_.tail_begin);
  return {tail_.data_ptr<float>(), static_cast<std::size_t>(tail_.numel())};
}

torch::Tensor GradientSync::tail_on_device() const {
  return on_device_ ? part(plan_.tail_begin, plan_.total) : torch::Tensor();
}

void GradientSync::take(std::size_t parameter) {
  if (!active_) {
    if (!options_.on_stray || !options_.on_stray()) return;
    begin_step();
  }
  if (skipped_[parameter]) {
    throw Error(
        ErrorKind::kUsage,
        "a parameter that was not used in the first step got a gradient, although the graph "
        "was declared static",
        "switch static_graph off");
  }
  if (arrival_order_.empty() && options_.on_backward) options_.on_backward();
  if (options_.views) {
    make_view(parameter);
  } else {
    move_out(parameter);
  }
  if (arrivals_[parameter] == 0) arrival_order_.push_back(parameter);
  if (++arrivals_[parameter] < micro_steps_) return;
  --bucket_open_[plan_.bucket_of[parameter]];
  if (options_.strategy == Strategy::kOverlap) start_full_buckets();
}

void GradientSync::move_out(std::size_t parameter) {
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
}

/// Autograd adds to a gradient that is a view already; any other is moved into its slot.
void GradientSync::make_view(std::size_t parameter) {
  const torch::NoGradGuard no_grad;
  auto& grad = parameters_[parameter].mutable_grad();
  auto& slot = slots_[parameter];
  if (grad.data_ptr() == slot.data_ptr()) {
    if (options_.scale != 1) slot.mul_(scale_);
    return;
  }
  if (options_.scale != 1) {
    at::mul_out(slot, grad, scale_);
  } else {
    slot.copy_(grad);
  }
  grad = slot;
}

/// What is summed of a parameter that backward did not reach: nothing, or what it had before.
void GradientSync::zero_missing(std::size_t parameter) {
  const torch::NoGradGuard no_grad;
  auto& slot = slots_[parameter];
  if (!options_.views || !parameters_[parameter].grad().defined()) {
    slot.zero_();
  } else {
    make_view(parameter);
  }
}

void GradientSync::start_full_buckets() {
  while (next_bucket_ < plan_.buckets.size() && bucket_open_[next_bucket_] == 0) {
    const auto& bucket = plan_.buckets[next_bucket_++];
    handed_over_.push_back(clock_.monotonic());
    if (options_.strategy == Strategy::kLocal) continue;
    if (options_.before_sum) {
      auto gradients = part(bucket.begin, std::min(bucket.end, plan_.tail_begin));
      options_.before_sum(gradients);
    }
    const bool norm_needed = communicator_.size() > 1 || options_.overflow_slot;
    if (options_.norm_slot && norm_wanted_ && norm_needed) add_squares(bucket);
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
    squares_on_device_ += part(bucket.begin, end).norm().square_();
  }
}

/// Adds the tail of the host to the last bucket. Squares that are still being computed on a
/// device do so there: nobody waits for them.
void GradientSync::write_tail() {
  if (options_.fill_tail) options_.fill_tail(tail());
  const bool with_norm = options_.norm_slot && communicator_.size() > 1;
  if (!on_device_) {
    if (with_norm) tail()[*options_.norm_slot] = static_cast<float>(norm_weight_ * squares_);
    if (options_.overflow_slot) tail()[*options_.overflow_slot] = std::isfinite(squares_) ? 0 : 1;
    return;
  }
  const auto on_device = part(plan_.tail_begin, plan_.total);
  // Nobody writes the host's tail again before read_results(), which comes after this copy.
  on_device.copy_(tail_, /*non_blocking=*/true);
  if (added_to_tail_.defined()) {
    on_device.narrow(0, 0, added_to_tail_.numel()).add_(added_to_tail_);
  }
  if (options_.fill_tail_on_device) options_.fill_tail_on_device(on_device);
  if (with_norm) {
    on_device[static_cast<std::int64_t>(*options_.norm_slot)] = squares_on_device_ * norm_weight_;
  }
  if (options_.overflow_slot) {
    on_device[static_cast<std::int64_t>(*options_.overflow_slot)] =
        squares_on_device_.isfinite().logical_not();
  }
}

void GradientSync::start_sum(const comm::BucketPlan::Bucket& bucket) {
  if (communicator_.size() == 1) return;
  if (apart_) shared_part(bucket.begin, bucket.end).copy_(part(bucket.begin, bucket.end));
  if (!options_.shares_only) {
    communicator_.start_sum(shared_.subspan(bucket.begin, bucket.end - bucket.begin));
    return;
  }
  const std::size_t end = std::min(bucket.end, plan_.tail_begin);
  communicator_.start_sum_of_shares(shared_.subspan(bucket.begin, end - bucket.begin));
  communicator_.start_sum(shared_.subspan(end, bucket.end - end));
}

torch::Tensor GradientSync::part(std::size_t begin, std::size_t end) const {
  return flat_.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end - begin));
}

torch::Tensor GradientSync::shared_part(std::size_t begin, std::size_t end) const {
  return torch::from_blob(shared_.data() + begin, {static_cast<std::int64_t>(end - begin)});
}

void GradientSync::hand_over_rest() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (arrivals_[i] >= micro_steps_ || skipped_[i]) continue;
    // Backward did not reach this parameter, in this step or in some of its micro-steps.
    if (arrivals_[i] == 0) zero_missing(i);
    --bucket_open_[plan_.bucket_of[i]];
  }
  active_ = false;
  start_full_buckets();
}

void GradientSync::finish(bool sum_squares) {
  queue_sums();
  queue_results(sum_squares);
  read_results();
}

void GradientSync::queue_sums() {
  if (active_) hand_over_rest();
  if (options_.strategy == Strategy::kLocal) {
    if (!on_device_) return;
    if (options_.overflow_slot) squares_on_device_ += part(0, plan_.tail_begin).norm().square_();
    write_tail();  // no bucket was handed over
    return;
  }
  if (communicator_.size() == 1) return;
  if (options_.strategy == Strategy::kCentral) {
    if (apart_) shared_part(0, plan_.total).copy_(flat_);
    communicator_.sum_to_root(shared_, 0);
  } else if (apart_ || !on_device_) {
    communicator_.finish();
  } else {
    communicator_.queue_finish();
  }
  // The host writes there again only after a bucket of the next step was copied out of flat_.
  if (apart_) flat_.copy_(shared_part(0, plan_.total), /*non_blocking=*/page_lock_.locked());
}

void GradientSync::queue_results(bool sum_squares) {
  const auto gradients = part(0, plan_.tail_begin);
  if (!on_device_) {
    if (!sum_squares) return;
    sum_squares_ = 0;
    const auto add = [this](std::size_t begin, std::size_t end) {
      sum_squares_ += sum_of_squares(shared_.data() + begin, end - begin);
    };
    if (options_.shares_only) {
      comm::Shares{communicator_.rank(), communicator_.size()}.each(0, plan_.tail_begin, add);
    } else {
      add(0, plan_.tail_begin);
    }
    return;
  }
  results_->queue(0, part(plan_.tail_begin, plan_.total));
  if (sum_squares) {
    // Kept until it is read: the copy may come after its memory would have been given back.
    summed_squares_on_device_ = gradients.norm().square_();
    results_->queue(plan_.total - plan_.tail_begin, summed_squares_on_device_);
  }
  results_->close();
}

void GradientSync::read_results() {
  if (options_.shares_only) {
    const auto squares = communicator_.gather_all(sum_squares_);
    sum_squares_ = std::accumulate(squares.begin(), squares.end(), 0.0);
  }
  if (!on_device_) return;
  communicator_.confirm();
  const std::span<const float> values = results_->wait();
  std::copy_n(values.begin(), tail().size(), tail().begin());
  sum_squares_ = static_cast<double>(values.back());
}

}  // namespace lockstep::train
