#include "lockstep/train/trainer/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "lockstep/base/digest.h"
#include "lockstep/base/error.h"
#include "lockstep/base/log.h"
#include "lockstep/train/trainer/settings.h"

namespace lockstep::train {
namespace {

using record::Phase;

}  // namespace

Trainer::Trainer(record::TrainRequest request, record::RunStarted started,
                 comm::Communicator& communicator, const Clock& clock, EventSink emit,
                 const std::atomic<bool>& stop, int gpu)
    : request_(std::move(request)),
      recipe_(recipe_named(request_.spec.recipe)),
      communicator_(communicator),
      clock_(clock),
      emit_(std::move(emit)),
      stop_(stop),
      device_(Device::open(request_.spec.device, gpu, request_.spec.amp)),
      recorder_(clock, communicator.rank()) {
  auto& spec = request_.spec;
  require_known_options(recipe_, spec.options);
  if (recipe_.complete_options) {
    const std::string chosen = recipe_.complete_options(spec.options);
    if (!chosen.empty() && communicator_.rank() == 0) log_info(chosen);
  }
  if (spec.sync_batch_norm && !recipe_.sync_batch_norm) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format(
            "--sync-bn has no effect with the recipe {}, whose batch norms are inside the module",
            recipe_.name),
        "drop --sync-bn");
  }
  data_ = recipe_.load_data(spec);
  if (!data_.report.empty() && communicator_.rank() == 0) log_warning(data_.report);
  damage_.emplace(data_, communicator_);
  transform_ = recipe_.make_transform(spec, data_, spec.augment);
  torch::manual_seed(static_cast<std::int64_t>(spec.seed));
  task_ = recipe_.make_task(spec, data_);
  for (const Player& player : task_->players()) player.network->to(device_.torch());
  if (!device_.is_cpu()) {
    gpu_ = measure::physical_gpu(gpu, std::getenv("CUDA_VISIBLE_DEVICES"));
  }
  resolve_spec();

  for (const Player& player : task_->players()) {
    const auto rate_of = [this](const std::string& name) { return task_->rate_of(name); };
    learners_.push_back(std::make_unique<Learner>(*player.network, spec, communicator_, clock_,
                                                  rate_of, player.name));
  }
  loss_sums_.resize(learners_.size() - 1);
  if (spec.sync_batch_norm && communicator_.size() > 1) moments_.emplace(communicator_);
  const data::SamplerOptions sampler{.examples = data_.train->size(),
                                     .batch = spec.batch_per_worker,
                                     .accumulate = spec.accumulate,
                                     .rank = communicator_.rank(),
                                     .world = communicator_.size(),
                                     .seed = spec.seed};
  loader_.emplace(data_.train, transform_, sampler,
                  data::LoaderOptions{.threads = request_.loader_threads, .seed = spec.seed});
  steps_per_epoch_ = loader_->steps_per_epoch();
  total_steps_ = steps_per_epoch_ * spec.epochs;
  if (spec.max_steps > 0) total_steps_ = std::min(total_steps_, spec.max_steps);
  schedule_ = make_schedule(spec, recipe_, steps_per_epoch_, total_steps_);
  if (schedule_.shape == record::ScheduleShape::kPlateau)
    plateau_.emplace(spec.lr_gamma, spec.patience);
  if (request_.validate && data_.validation) {
    validation_.emplace(data_.validation, recipe_.make_transform(spec, data_, false),
                        spec.batch_per_worker, request_.loader_threads, communicator_);
  }
  if (plateau_ && !validation_) {
    throw Error(ErrorKind::kUsage, "--schedule plateau requires a validation set; none was loaded",
                "choose another --schedule");
  }
  log_.emplace(communicator_, emit_, request_.record_steps, request_.trace_path);
  if (!request_.checkpoint_dir.empty()) checkpoints_.emplace(request_.checkpoint_dir);
  if (checkpoints_ && communicator_.rank() == 0) writer_.emplace(*checkpoints_);
  if (request_.resume) resume();
  agree_on_start();
  started_ = std::move(started);
  started_.spec = spec;
}

/// Completes the spec by what only the trainer can determine.
void Trainer::resolve_spec() {
  auto& spec = request_.spec;
  spec.workers = communicator_.size();
  spec.backend = communicator_.backend();
  spec.data = data_.facts();
  spec.parameters = 0;
  for (const Player& player : task_->players()) {
    spec.parameters += player.network->parameter_count();
  }
  if (spec.batch_per_worker <= 0) spec.batch_per_worker = recipe_.batch_per_worker;
  if (spec.bucket_bytes == 0) spec.bucket_bytes = kDefaultBucketBytes;
  complete_spec(spec, recipe_);
}

/// Parameters and buffers become those of rank 0.
void Trainer::agree_on_start() {
  for (const auto& learner : learners_) {
    communicator_.broadcast(std::as_writable_bytes(learner->parameters()), 0);
    learner->parameters_changed();
  }
  share_buffers();
}

void Trainer::share_buffers() {
  for (const Player& player : task_->players()) {
    for (auto& buffer : player.network->buffers()) {
      auto dense = buffer.contiguous().cpu();
      communicator_.broadcast({static_cast<std::byte*>(dense.data_ptr()), dense.nbytes()}, 0);
      if (!dense.is_same(buffer)) buffer.copy_(dense);
    }
  }
}

void Trainer::run() {
  began_ = progress_at_ = clock_.monotonic();
  started_.started_wall_ns = clock_.wall();
  started_.steps_per_epoch = steps_per_epoch_;
  started_.first_epoch = position_.epoch;
  if (communicator_.rank() == 0) emit_(started_);

  sampler_.emplace(clock_, communicator_.rank(), gpu_);
  for (const Player& player : task_->players()) player.network->train();
  bool go_on = true;
  while (go_on && position_.total < total_steps_) go_on = train_epoch(position_.epoch);
  log_->finish();
  if (writer_) writer_->finish();
  report_checkpoints();
  end_run(go_on ? record::RunStatus::kDone : record::RunStatus::kInterrupted);
}

/// False when the run was asked to stop.
bool Trainer::train_epoch(int epoch) {
  loader_->start_epoch(epoch, position_.step);
  // Of an epoch that is resumed in its middle, only the rest was timed here.
  const std::int64_t examples_before = position_.examples;
  const Nanoseconds began = clock_.monotonic();
  while (position_.step < steps_per_epoch_ && position_.total < total_steps_) {
    const StepOutcome outcome = train_step(epoch, position_.step);
    log_->flush_if_due();
    report_progress(epoch, position_.step);
    report_checkpoints();
    if (outcome == StepOutcome::kStop && position_.total < total_steps_) {
      log_->flush();
      for (const auto& learner : learners_) learner->average_state();
      if (checkpoints_) save_checkpoint();
      return false;
    }
    if (checkpoints_ && request_.checkpoint_every > 0 && position_.step < steps_per_epoch_ &&
        position_.total % request_.checkpoint_every == 0) {
      save_checkpoint();
    }
  }
  finish_epoch(epoch, began, examples_before);
  return true;
}

Trainer::StepOutcome Trainer::train_step(int epoch, std::int64_t step) {
  recorder_.begin(epoch, position_.total);
  learning_rate_ = request_.spec.scaled_learning_rate *
                   schedule_.factor(position_.total, total_steps_) *
                   (plateau_ ? plateau_->factor() : 1);
  const bool last = position_.step + 1 == steps_per_epoch_ || position_.total + 1 == total_steps_;
  StepShare share;
  bool agreed = false;
  std::vector<Minibatch> parts;
  std::vector<Nanoseconds> handed_over;
  for (std::size_t player = 0; player < learners_.size(); ++player) {
    Learner& learner = *learners_[player];
    share = compute_gradients(player, parts);
    recorder_.end_phase(Phase::kBackward);
    recorder_.ready();
    learner.sum();
    recorder_.end_phase(Phase::kTransfer);
    learner.update(learning_rate_);
    device_.wait();
    recorder_.end_phase(Phase::kOptimizer);
    agreed = learner.share_parameters(last);
    recorder_.end_phase(Phase::kTransfer);
    handed_over.insert(handed_over.end(), learner.handed_over().begin(),
                       learner.handed_over().end());
  }
  ++position_.step;
  ++position_.total;
  unread_examples_ += share.global;
  const StepOutcome outcome = agreed ? read_status(epoch, step) : StepOutcome::kGoOn;
  log_->add(recorder_.end(share.examples), handed_over);
  return outcome;
}

/// Forward and backward of one player over the micro-batches of a step. The first player takes them
/// from the loader; of what is kept for the others, the loader has the tensors back.
StepShare Trainer::compute_gradients(std::size_t player, std::vector<Minibatch>& parts) {
  const int micro_steps = request_.spec.accumulate;
  const int targets = data_.train->info().targets;
  Learner& learner = *learners_[player];
  learner.begin_step(micro_steps);
  std::optional<nets::SyncBatchNormScope> sync_norms;
  if (moments_) sync_norms.emplace(*moments_);
  StepShare share;
  for (int micro = 0; micro < micro_steps; ++micro) {
    std::optional<data::Batch> batch;
    if (player == 0) {
      batch = loader_->next(Seconds(request_.timeout_s));
      recorder_.end_phase(Phase::kInputWait);
      if (!batch) throw Error(ErrorKind::kInternal, "the loader ended before the epoch");
      parts.push_back(minibatch_of(*batch, *transform_, targets, position_.total, device_));
      device_.wait();
      recorder_.end_phase(Phase::kHostToDevice);
    }
    Minibatch& part = parts[static_cast<std::size_t>(micro)];
    share.global = part.global_count;
    share.examples = part.step_count;
    if (moments_ && !everyone_has_examples(share.global)) share.global = share.examples = 0;
    const auto loss =
        part.count > 0 && share.global > 0 ? forward(player, part, share) : torch::Tensor();
    recorder_.end_phase(Phase::kForward);
    if (micro + 1 == micro_steps) {
      share.stop = stop_.load();
      learner.publish(share);
    }
    if (loss.defined()) loss.backward();
    part.images = part.labels = part.targets = torch::Tensor();
    device_.wait();
    recorder_.end_phase(Phase::kBackward);
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
  share.loss_sum += loss.item<double>() * count;
  return weight != 1 ? loss * weight : loss;
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

void Trainer::check_ranks(int epoch, std::int64_t step) {
  const auto digests = communicator_.gather_all(parameters_digest());
  for (std::size_t rank = 1; rank < digests.size(); ++rank) {
    if (digests[rank] == digests[0]) continue;
    throw Error(
        ErrorKind::kInternal,
        fmt::format(
            "after step {} of epoch {} the parameters of rank {} differ from those of rank 0",
            step + 1, epoch, rank));
  }
}

std::uint64_t Trainer::parameters_digest() {
  std::vector<std::uint64_t> digests;
  for (const auto& learner : learners_) {
    digests.push_back(digest(std::as_bytes(learner->parameters())));
  }
  return digests.size() == 1 ? digests[0] : digest(std::as_bytes(std::span(digests)));
}

}  // namespace lockstep::train
