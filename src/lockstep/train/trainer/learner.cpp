#include "lockstep/train/trainer/learner.h"

#include "lockstep/train/checkpoint/training_state.h"
#include "lockstep/train/trainer/settings.h"

namespace lockstep::train {
namespace {

/// What StepStatus::publish() writes, of a loss and answers that are still being computed.
torch::Tensor status_on_device(int rank, const torch::Tensor& loss, const torch::Tensor& correct) {
  const auto bad = loss.isfinite().logical_not().to(torch::kFloat);
  const auto zero = torch::zeros_like(bad);
  return torch::stack(
      {loss.nan_to_num(0, 0, 0), correct.defined() ? correct : zero, zero, bad, bad * rank, zero});
}

}  // namespace

Learner::Learner(torch::nn::Module& network, const record::RunSpec& spec,
                 comm::Communicator& communicator, const Clock& clock,
                 const std::function<double(const std::string&)>& rate_of, std::string name,
                 std::size_t divide_from)
    : network_(network),
      name_(std::move(name)),
      communicator_(communicator),
      strategy_(spec.strategy.value()),
      full_batch_(spec.global_batch()) {
  if (spec.amp && spec.amp_type == record::AmpType::kHalf) scale_.emplace();
  const auto trainable = trainable_parameters(network);
  sizes_ = element_counts(trainable);
  plan_ = comm::plan_buckets(sizes_, Bytes{spec.bucket_bytes}, StepStatus::kFloats);
  const torch::Device device = common_device(trainable);
  const bool divides = device.is_cpu() && may_divide(spec) && plan_.tail_begin >= divide_from;
  const std::span<float> common = divides ? common_memory() : std::span<float>();
  common_ = !common.empty();
  parameters_.emplace(trainable, plan_, common, communicator.rank() == 0 || !common_);
  sync_.emplace(
      trainable, plan_, communicator,
      SyncOptions{.strategy = strategy_,
                  .wire = spec.wire,
                  .norm_slot = StepStatus::kNormSlot,
                  .overflow_slot = scale_ ? std::optional(StepStatus::kOverflowSlot) : std::nullopt,
                  .shares_only = common_},
      clock);
  ParameterLayout layout{.groups = rate_groups(network, plan_, rate_of),
                         .tensors = tensor_ranges(trainable, plan_),
                         .count = plan_.tail_begin};
  std::function<at::Tensor()> zeros;
  if (common_) {
    layout.share = {communicator.rank(), communicator.size()};
    zeros = [this] {
      const std::span<float> memory = common_memory();
      return torch::from_blob(memory.data(), {static_cast<std::int64_t>(memory.size())});
    };
  }
  optimizer_.emplace(optimizer_options(spec), layout, device, false, zeros);
  sharing_.emplace(strategy_, spec.average_every, communicator, plan_.tail_begin,
                   plan_.total - plan_.tail_begin);
}

/// Whether ranks can divide the update among themselves: all of them are about to do the same one,
/// and it needs no more than a float and its gradient.
bool Learner::may_divide(const record::RunSpec& spec) const {
  const bool same_step = strategy_ == Strategy::kOverlap || strategy_ == Strategy::kBlocking;
  return communicator_.size() > 1 && same_step && !scale_ && !make_rule(*spec.optimizer).by_tensor;
}

/// As long as the parameters; empty where ranks have no memory in common.
std::span<float> Learner::common_memory() {
  return communicator_.allocate_common(plan_.tail_begin);
}

void Learner::use_buckets(Bytes size) {
  plan_ = comm::plan_buckets(sizes_, size, StepStatus::kFloats);
  sync_->rebucket(plan_);
}

void Learner::publish(const StepShare& share) {
  share_ = share;
  status().publish(communicator_.rank(), share.loss_sum.on_host(), share.correct.on_host(),
                   share.stop);
  if (share.loss_sum.on_device().defined()) {
    sync_->add_to_tail(status_on_device(communicator_.rank(), share.loss_sum.on_device(),
                                        share.correct.on_device()));
  }
  // Gradients are of the loss over the global batch; the norm wanted is that of the rank's own
  // mean.
  const double scale = share.examples > 0
                           ? static_cast<double>(share.global) / static_cast<double>(share.examples)
                           : 0;
  sync_->weigh_norm(scale * scale);
}

double Learner::loss_factor(std::int64_t examples, std::int64_t global) const {
  if (strategy_ != Strategy::kLocal || examples == 0) return 1;
  return static_cast<double>(global) / static_cast<double>(examples);
}

/// A smaller last step is split unevenly between ranks, for which the two equations are not valid.
bool Learner::measures_noise() const {
  const bool even = share_.global == full_batch_ && communicator_.size() > 1;
  return even && strategy_ != Strategy::kLocal && sharing_->updates();
}

void Learner::queue_results() {
  sync_->queue_results(measures_noise());
  results_read_ = false;
}

void Learner::read_results() {
  if (results_read_) return;
  results_read_ = true;
  sync_->read_results();
  if (!measures_noise() || (scale_ && status().overflowed())) return;
  const double ranks = communicator_.size(), batch = static_cast<double>(full_batch_);
  const double scale = loss_scale() * loss_scale();
  noise_.add(status().own_squares() / ranks / scale, batch / ranks, sync_->sum_squares() / scale,
             batch);
}

torch::Tensor Learner::gradients() const {
  return sync_->flat().narrow(0, 0, static_cast<std::int64_t>(plan_.tail_begin));
}

std::span<float> Learner::parameters() {
  parameters_->to_host();
  return parameters_->values();
}

void Learner::queue_update(double learning_rate) {
  double divide_by = 1;
  if (scale_) {
    read_results();
    const bool overflowed = status().overflowed();
    divide_by = scale_->value();
    // With kCentral only rank 0 has the status of all yet.
    if (strategy_ != Strategy::kCentral) scale_->observe(overflowed);
    if (overflowed) return;
  }
  if (!sharing_->updates()) return;
  if (divide_by != 1) gradients().mul_(1 / divide_by);
  optimizer_->step(parameters_->flat(), gradients(), learning_rate);
}

bool Learner::share_parameters(bool last_of_epoch) {
  if (!sharing_->needed()) return true;
  const bool agreed = sharing_->after_step(parameters(), sync_->tail(), last_of_epoch);
  parameters_->to_device();
  if (scale_ && strategy_ == Strategy::kCentral) scale_->observe(status().overflowed());
  return agreed;
}

void Learner::average_state() {
  if (strategy_ != Strategy::kLocal) return;
  for (const OptimizerState& state : optimizer_->state()) {
    const auto on_host = state.values.cpu();
    sharing_->average({on_host.data_ptr<float>(), static_cast<std::size_t>(on_host.numel())});
    if (!state.values.is_cpu()) state.values.copy_(on_host);
  }
}

std::string Learner::prefixed(const std::string& name) const {
  return name_.empty() ? name : name_ + "." + name;
}

std::vector<NamedTensor> Learner::model_tensors() const {
  auto tensors = train::model_tensors(network_);
  for (NamedTensor& entry : tensors) entry.name = prefixed(entry.name);
  return tensors;
}

std::vector<NamedTensor> Learner::optimizer_tensors() {
  auto tensors = train::optimizer_tensors(*optimizer_, network_, plan_);
  for (NamedTensor& entry : tensors) entry.name = prefixed(entry.name);
  return tensors;
}

std::map<std::string, double> Learner::figures() const {
  std::map<std::string, double> figures;
  for (const auto& [name, value] : noise_.figures()) figures[prefixed(name)] = value;
  if (scale_) {
    for (const auto& [name, value] : scale_->figures()) figures[prefixed(name)] = value;
  }
  figures[prefixed("optimizer_steps")] = static_cast<double>(optimizer_->steps());
  return figures;
}

void Learner::restore(const Checkpoint& checkpoint) {
  const auto mine = [&](const std::vector<NamedTensor>& all) {
    std::vector<NamedTensor> found;
    for (const NamedTensor& entry : all) {
      if (entry.name.starts_with(prefixed(""))) found.push_back(entry);
    }
    return found;
  };
  copy_tensors(mine(checkpoint.model), model_tensors());
  copy_tensors(mine(checkpoint.optimizer), optimizer_tensors());
  std::map<std::string, double> figures;
  for (const auto& [name, value] : checkpoint.figures) {
    if (name.starts_with(prefixed(""))) figures[name.substr(prefixed("").size())] = value;
  }
  noise_.restore(figures);
  if (scale_) scale_->restore(figures);
  const auto steps = figures.find("optimizer_steps");
  optimizer_->set_steps(steps != figures.end() ? static_cast<std::int64_t>(steps->second)
                                               : checkpoint.position.total);
}

}  // namespace lockstep::train
