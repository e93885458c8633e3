#include <fmt/format.h>

#include "lockstep/base/error.h"
#include "lockstep/base/terminal/log.h"
#include "lockstep/train/trainer/trainer.h"

// One step: input, gradients, sums, update, and what the ranks read of each other.
namespace lockstep::train {

using record::Phase;

Trainer::StepOutcome Trainer::train_step(int epoch, std::int64_t step) {
  try_bucket_sizes();
  timer_.begin(epoch, position_.total);
  learning_rate_ = request_.spec.scaled_learning_rate *
                   schedule_.factor(position_.total, total_steps_) *
                   (plateau_ ? plateau_->factor() : 1);
  const bool last = position_.step + 1 == steps_per_epoch_ || position_.total + 1 == total_steps_;
  StepShare share;
  bool agreed = true;
  std::vector<Minibatch> parts;
  std::vector<Nanoseconds> handed_over;
  for (std::size_t player = 0; player < learners_.size(); ++player) {
    Learner& learner = *learners_[player];
    share = compute_gradients(player, parts);
    timer_.end_phase(Phase::kBackward);
    timer_.ready();
    learner.queue_sum();
    timer_.end_phase(Phase::kTransfer);
    timer_.results_queued();
    learner.queue_results();
    timer_.end_phase(Phase::kOther);
    learner.queue_update(learning_rate_);
    timer_.end_phase(Phase::kOptimizer);
    if (learner.shares_parameters()) {
      learner.read_results();
      agreed = learner.share_parameters(last);
      timer_.end_phase(Phase::kTransfer);
    }
    handed_over.insert(handed_over.end(), learner.handed_over().begin(),
                       learner.handed_over().end());
  }
  feed_->prefetch();  // while the device is busy with what was queued
  for (const auto& learner : learners_) {
    if (!learner->shares_parameters()) learner->read_results();
  }
  timer_.results_read();
  ++position_.step;
  ++position_.total;
  unread_examples_ += share.global;
  const StepOutcome outcome = agreed ? read_status(epoch, step) : StepOutcome::kGoOn;
  timer_.end(share.examples, std::move(handed_over));
  log_timed_steps();
  return outcome;
}

void Trainer::log_timed_steps() {
  for (const TimedStep& step : timer_.take()) {
    log_->add(step.times, step.handed_over);
    if (tuner_) tuner_->observe(step.times.step, step.times.exposed_s());
  }
}

void Trainer::try_bucket_sizes() {
  if (!tuner_) return;
  const auto gather = [this](double mine) { return communicator_.gather_all(mine); };
  const bool chosen = tuner_->decide(gather) || tuner_->done();
  for (const auto& learner : learners_) learner->use_buckets(Bytes{tuner_->size()});
  tuner_->step_begins(position_.total);
  if (!chosen) return;
  if (communicator_.rank() == 0) {
    log_info("buckets of " + tuner_->summary());
    emit_(record::BucketChosen{tuner_->size()});
  }
  tuner_.reset();
}

Minibatch Trainer::next_part() {
  auto part = feed_->next(position_.total);
  if (!part) throw Error(ErrorKind::kInternal, "the loader ended before the epoch");
  if (device_.is_cpu()) {
    timer_.end_phase(Phase::kInputWait);
  } else {
    timer_.waited_for_input(feed_->waited_s());
  }
  if (request_.spec.channels_last && part->images.defined()) {
    part->images = part->images.contiguous(torch::MemoryFormat::ChannelsLast);
  }
  timer_.end_phase(Phase::kHostToDevice);
  return std::move(*part);
}

/// Forward and backward of one player over the micro-batches of a step. The first player takes them
/// from the feed; of what is kept for the others, the feed has the tensors back.
StepShare Trainer::compute_gradients(std::size_t player, std::vector<Minibatch>& parts) {
  const int micro_steps = request_.spec.accumulate;
  Learner& learner = *learners_[player];
  learner.begin_step(micro_steps);
  std::optional<nets::SyncBatchNormScope> sync_norms;
  if (moments_) sync_norms.emplace(*moments_);
  StepShare share;
  for (int micro = 0; micro < micro_steps; ++micro) {
    if (player == 0) parts.push_back(next_part());
    Minibatch& part = parts[static_cast<std::size_t>(micro)];
    share.global = part.global_count;
    share.examples = part.step_count;
    if (moments_ && !everyone_has_examples(share.global)) share.global = share.examples = 0;
    const auto loss =
        part.count > 0 && share.global > 0 ? forward(player, part, share) : torch::Tensor();
    timer_.end_phase(Phase::kForward);
    if (micro + 1 == micro_steps) {
      share.stop = stop_.load();
      learner.publish(share);
    }
    if (loss.defined()) loss.backward();
    part.images = part.labels = part.targets = torch::Tensor();
    if (player == 0) feed_->release();
    timer_.end_phase(Phase::kBackward);
    if (player == 0 && micro + 1 < micro_steps) feed_->prefetch();
  }
  learner.hand_over();
  return share;
}

/// Norms over the global batch need every rank in every pass: the examples of a last step that is
/// too small for that are left out.
bool Trainer::everyone_has_examples(std::int64_t global) const {
  return global >= std::int64_t{communicator_.size()} * request_.spec.accumulate;
}

/// The batch's part of the mean loss over the global batch, ready for backward. Gradients are
/// summed over ranks and micro-steps, so each batch is weighted by its share.
torch::Tensor Trainer::forward(std::size_t player, const Minibatch& part, StepShare& share) {
  const Device::MixedPrecision precision(device_);
  const auto loss = task_->loss(player, part, share.correct);
  const auto count = static_cast<double>(part.count);
  const double weight = count / static_cast<double>(part.global_count) *
                        learners_[player]->loss_factor(part.step_count, part.global_count);
  share.loss_sum.add(loss, count);
  const double factor = weight * learners_[player]->loss_scale();
  return factor != 1 ? loss * factor : loss;
}

/// Reads what all ranks published about the steps since they last agreed.
Trainer::StepOutcome Trainer::read_status(int epoch, std::int64_t step) {
  check_loss(epoch, step);
  const StepStatus status = learners_[0]->status();
  progress_loss_.sum += status.loss_sum();
  progress_loss_.examples += unread_examples_;
  position_.loss_sum += status.loss_sum();
  position_.correct += status.correct();
  position_.examples += unread_examples_;
  unread_examples_ = 0;
  bool stop = status.stop_requested();
  for (std::size_t player = 1; player < learners_.size(); ++player) {
    loss_sums_[player - 1] += learners_[player]->status().loss_sum();
    stop = stop || learners_[player]->status().stop_requested();
  }
  if (request_.check_ranks) check_ranks(epoch, step);
  return stop ? StepOutcome::kStop : StepOutcome::kGoOn;
}

void Trainer::check_loss(int epoch, std::int64_t step) {
  for (const auto& learner : learners_) {
    const StepStatus status = learner->status();
    const int bad = status.ranks_without_finite_loss();
    if (bad == 0 || request_.keep_going) continue;
    const std::string where = bad == 1 ? fmt::format("rank {}", status.rank_without_finite_loss())
                                       : fmt::format("{} ranks", bad);
    throw Error(ErrorKind::kData,
                fmt::format("the loss is not a finite number at step {} of epoch {} on {}",
                            step + 1, epoch, where),
                "lower --lr, check the data, or ignore it with --keep-going");
  }
}

}  // namespace lockstep::train
