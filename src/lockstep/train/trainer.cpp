#include "lockstep/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "lockstep/base/digest.h"
#include "lockstep/base/error.h"
#include "lockstep/train/classification.h"
#include "lockstep/train/settings.h"

namespace lockstep::train {
namespace {

using record::Phase;

}  // namespace

Trainer::Trainer(record::TrainRequest request, record::RunStarted started,
                 comm::Communicator& communicator, const Clock& clock, EventSink emit,
                 const std::atomic<bool>& stop, int local_rank)
    : request_(std::move(request)),
      recipe_(recipe_named(request_.spec.recipe)),
      communicator_(communicator),
      clock_(clock),
      emit_(std::move(emit)),
      stop_(stop),
      device_(Device::open(request_.spec.device, local_rank, request_.spec.amp)),
      recorder_(clock, communicator.rank()) {
  data_ = recipe_.load_data(request_.spec.data.path);
  transform_ = recipe_.make_transform(request_.spec.augment);
  torch::manual_seed(static_cast<std::int64_t>(request_.spec.seed));
  network_ = recipe_.make_network();
  network_->to(device_.torch());
  if (!device_.is_cpu()) {
    gpu_ = measure::physical_gpu(local_rank, std::getenv("CUDA_VISIBLE_DEVICES"));
  }
  resolve_spec();

  auto& spec = request_.spec;
  learner_.emplace(*network_, spec, communicator_, clock_);
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
  if (schedule_.shape == Schedule::Shape::kPlateau) plateau_.emplace(spec.lr_gamma, spec.patience);
  if (request_.validate) {
    validation_.emplace(data_.validation, recipe_.make_transform(false), spec.batch_per_worker,
                        request_.loader_threads, communicator_);
  }
  log_.emplace(communicator_, emit_, request_.record_steps, request_.trace_path);
  if (!request_.checkpoint_dir.empty()) checkpoints_.emplace(request_.checkpoint_dir);
  if (checkpoints_ && communicator_.rank() == 0) writer_.emplace(*checkpoints_);
  if (request_.resume) resume();
  agree_on_start();
  started_ = std::move(started);
  started_.spec = spec;
}

/// Completes the spec by what only the trainer knows.
void Trainer::resolve_spec() {
  auto& spec = request_.spec;
  spec.workers = communicator_.size();
  spec.backend = communicator_.backend();
  spec.data = data_.facts();
  spec.parameters = network_->parameter_count();
  if (spec.bucket_bytes == 0) spec.bucket_bytes = kDefaultBucketBytes;
  complete_spec(spec, recipe_);
}

/// Parameters and buffers become those of rank 0.
void Trainer::agree_on_start() {
  communicator_.broadcast(std::as_writable_bytes(learner_->parameters()), 0);
  learner_->publish();
  share_buffers();
}

void Trainer::share_buffers() {
  for (auto& buffer : network_->buffers()) {
    auto dense = buffer.contiguous().cpu();
    communicator_.broadcast({static_cast<std::byte*>(dense.data_ptr()), dense.nbytes()}, 0);
    if (!dense.is_same(buffer)) buffer.copy_(dense);
  }
}

void Trainer::run() {
  began_ = progress_at_ = clock_.monotonic();
  started_.started_wall_ns = clock_.wall();
  started_.steps_per_epoch = steps_per_epoch_;
  started_.first_epoch = position_.epoch;
  if (communicator_.rank() == 0) emit_(started_);

  sampler_.emplace(clock_, communicator_.rank(), gpu_);
  network_->train();
  bool go_on = true;
  while (go_on && position_.total < total_steps_) go_on = train_epoch(position_.epoch);
  log_->finish();
  if (writer_) writer_->finish();
  tell_of_checkpoints();
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
    tell_of_checkpoints();
    if (outcome == StepOutcome::kStop && position_.total < total_steps_) {
      log_->flush();
      learner_->settle();
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
  const StepShare share = compute_gradients();
  recorder_.end_phase(Phase::kBackward);
  recorder_.ready();
  learner_->sum();
  recorder_.end_phase(Phase::kTransfer);
  learning_rate_ = request_.spec.scaled_learning_rate *
                   schedule_.factor(position_.total, total_steps_) *
                   (plateau_ ? plateau_->factor() : 1);
  learner_->move(learning_rate_);
  recorder_.end_phase(Phase::kOptimizer);
  ++position_.step;
  ++position_.total;
  const bool last = position_.step == steps_per_epoch_ || position_.total == total_steps_;
  const bool agreed = learner_->share(last);
  recorder_.end_phase(Phase::kTransfer);

  unread_examples_ += share.global;
  const StepOutcome outcome = agreed ? read_ballot(epoch, step) : StepOutcome::kGoOn;
  log_->add(recorder_.end(share.examples), learner_->handed_over());
  return outcome;
}

/// Forward and backward over the micro-batches of a step.
StepShare Trainer::compute_gradients() {
  const int micro_steps = request_.spec.accumulate;
  learner_->begin_step(micro_steps);
  std::optional<nets::SyncBatchNormScope> sync_norms;
  if (moments_) sync_norms.emplace(*moments_);
  StepShare share;
  for (int micro = 0; micro < micro_steps; ++micro) {
    auto batch = loader_->next(Seconds(request_.timeout_s));
    recorder_.end_phase(Phase::kInputWait);
    if (!batch) throw Error(ErrorKind::kInternal, "the loader ended before the epoch");
    share.global = batch->global_count();
    share.examples = batch->step_count();
    if (moments_ && !everyone_has_examples(share.global)) share.global = share.examples = 0;
    const auto loss =
        batch->count() > 0 && share.global > 0 ? forward(*batch, share) : torch::Tensor();
    recorder_.end_phase(Phase::kForward);
    if (micro + 1 == micro_steps) {
      share.stop = stop_.load();
      learner_->cast(share);
    }
    if (loss.defined()) loss.backward();
    recorder_.end_phase(Phase::kBackward);
  }
  learner_->hand_over();
  return share;
}

/// Norms over the global batch want every rank in every pass: the examples of a last step that is
/// too small for that are left out.
bool Trainer::everyone_has_examples(std::int64_t global) const {
  return global >= std::int64_t{communicator_.size()} * request_.spec.accumulate;
}

/// The batch's part of the mean loss over the global batch, ready for backward. Gradients are
/// summed over ranks and micro-steps, so each batch is weighted by its share.
torch::Tensor Trainer::forward(const data::Batch& batch, StepShare& share) {
  const auto images =
      device_.take(images_of(batch, transform_->output_shape(), transform_->output_order()));
  const auto labels = device_.take(labels_of(batch));
  recorder_.end_phase(Phase::kHostToDevice);
  const Device::MixedPrecision precision(device_);
  const auto scores = network_->forward(images);
  const auto count = static_cast<double>(batch.count());
  const double weight = count / static_cast<double>(batch.global_count()) *
                        learner_->loss_factor(batch.step_count(), batch.global_count());
  auto loss = torch::nn::functional::cross_entropy(scores, labels);
  share.loss_sum += loss.item<double>() * count;
  share.correct += static_cast<double>(count_correct(scores, batch));
  return weight != 1 ? loss * weight : loss;
}

/// What all ranks said about the steps since they last agreed.
Trainer::StepOutcome Trainer::read_ballot(int epoch, std::int64_t step) {
  check_loss(epoch, step);
  const StepBallot ballot = learner_->ballot();
  if (unread_examples_ > 0) last_loss_ = ballot.loss_sum() / static_cast<double>(unread_examples_);
  position_.loss_sum += ballot.loss_sum();
  position_.correct += ballot.correct();
  position_.examples += unread_examples_;
  unread_examples_ = 0;
  if (request_.check_ranks) check_ranks(epoch, step);
  return ballot.anyone_stops() ? StepOutcome::kStop : StepOutcome::kGoOn;
}

void Trainer::check_loss(int epoch, std::int64_t step) {
  const StepBallot ballot = learner_->ballot();
  const int bad = ballot.ranks_without_finite_loss();
  if (bad == 0 || request_.keep_going) return;
  const std::string where = bad == 1 ? fmt::format("rank {}", ballot.rank_without_finite_loss())
                                     : fmt::format("{} ranks", bad);
  throw Error(ErrorKind::kData,
              fmt::format("the loss is not a finite number at step {} of epoch {} on {}", step + 1,
                          epoch, where),
              "lower --lr, look at the data, or ignore it with --keep-going");
}

void Trainer::check_ranks(int epoch, std::int64_t step) {
  const auto digests = communicator_.gather_all(parameters_digest());
  for (std::size_t rank = 1; rank < digests.size(); ++rank) {
    if (digests[rank] == digests[0]) continue;
    throw Error(ErrorKind::kInternal,
                fmt::format("after step {} of epoch {} rank {} holds other parameters than rank 0",
                            step + 1, epoch, rank));
  }
}

std::uint64_t Trainer::parameters_digest() {
  return digest(std::as_bytes(learner_->parameters()));
}

}  // namespace lockstep::train
