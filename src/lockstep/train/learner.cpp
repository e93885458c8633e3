#include "lockstep/train/learner.h"

#include "lockstep/train/grouped_optimizer.h"
#include "lockstep/train/settings.h"
#include "lockstep/train/sum_of_squares.h"
#include "lockstep/train/training_state.h"

namespace lockstep::train {

Learner::Learner(torch::nn::Module& network, const record::RunSpec& spec,
                 comm::Communicator& communicator, const Clock& clock,
                 const std::function<double(const std::string&)>& rate_of, std::string name)
    : network_(network),
      name_(std::move(name)),
      communicator_(communicator),
      strategy_(strategy_from_name(spec.strategy)),
      full_batch_(spec.global_batch()) {
  const auto trainable = trainable_parameters(network);
  plan_ =
      comm::plan_buckets(element_counts(trainable), Bytes{spec.bucket_bytes}, StepBallot::kFloats);
  parameters_.emplace(trainable, plan_);
  sync_.emplace(trainable, plan_, communicator,
                SyncOptions{.strategy = strategy_,
                            .wire = wire_from_name(spec.wire),
                            .norm_slot = StepBallot::kNormSlot},
                clock);
  optimizer_ = make_grouped_optimizer(optimizer_options(spec), rate_groups(network, plan_, rate_of),
                                      tensor_ranges(trainable, plan_), plan_.tail_begin);
  sharing_.emplace(strategy_, spec.average_every, communicator, plan_.tail_begin,
                   plan_.total - plan_.tail_begin);
}

void Learner::cast(const StepShare& share) {
  cast_ = share;
  ballot().cast(communicator_.rank(), share.loss_sum, share.correct, share.stop);
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

void Learner::sum() {
  sync_->finish();
  // A last step that is smaller is shared unevenly, which the two equations do not know.
  const bool even = cast_.global == full_batch_ && communicator_.size() > 1;
  if (strategy_ == Strategy::kLocal || !even || !sharing_->moves()) return;
  const auto gradients = sync_->gradients().first(plan_.tail_begin);
  const double ranks = communicator_.size(), batch = static_cast<double>(full_batch_);
  noise_.add(ballot().own_squares() / ranks, batch / ranks,
             sum_of_squares(gradients.data(), gradients.size()), batch);
}

void Learner::move(double learning_rate) {
  if (!sharing_->moves()) return;
  optimizer_->step(parameters_->values(), sync_->gradients().first(plan_.tail_begin),
                   learning_rate);
}

bool Learner::share(bool last_of_epoch) {
  const bool agreed = sharing_->after_step(parameters_->values(), sync_->tail(), last_of_epoch);
  parameters_->publish();
  return agreed;
}

void Learner::settle() {
  if (strategy_ != Strategy::kLocal) return;
  for (const OptimizerMemory& memory : optimizer_->memory()) sharing_->average(memory.values);
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
  parameters_->fetch();
  copy_tensors(mine(checkpoint.optimizer), optimizer_tensors());
  std::map<std::string, double> figures;
  for (const auto& [name, value] : checkpoint.figures) {
    if (name.starts_with(prefixed(""))) figures[name.substr(prefixed("").size())] = value;
  }
  noise_.restore(figures);
  const auto steps = figures.find("optimizer_steps");
  optimizer_->set_steps(steps != figures.end() ? static_cast<std::int64_t>(steps->second)
                                               : checkpoint.position.total);
}

}  // namespace lockstep::train
