#include "lockstep/train/trainer.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

#include "lockstep/base/digest.h"
#include "lockstep/base/error.h"
#include "lockstep/base/log.h"
#include "lockstep/train/classification.h"
#include "lockstep/train/sgd.h"
#include "lockstep/train/step_ballot.h"

namespace lockstep::train {
namespace {

using record::Phase;

constexpr Nanoseconds kProgressInterval = 200'000'000;

double seconds(Nanoseconds time) { return static_cast<double>(time) * 1e-9; }

std::int64_t peak_memory_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

}  // namespace

Trainer::Trainer(record::TrainRequest request, record::RunStarted started,
                 comm::Communicator& communicator, const Clock& clock, EventSink emit,
                 const std::atomic<bool>& stop)
    : request_(std::move(request)),
      recipe_(recipe_named(request_.spec.recipe)),
      communicator_(communicator),
      clock_(clock),
      emit_(std::move(emit)),
      stop_(stop),
      recorder_(clock, communicator.rank()) {
  data_ = recipe_.load_data(request_.spec.data.path);
  transform_ = recipe_.make_transform(request_.spec.augment);
  torch::manual_seed(static_cast<std::int64_t>(request_.spec.seed));
  network_ = recipe_.make_network();
  resolve_spec(std::move(started));

  const auto& spec = request_.spec;
  const auto trainable = trainable_parameters(*network_);
  plan_ = comm::plan_buckets(element_counts(trainable), Bytes{spec.bucket_bytes},
                             StepBallot::kFloats);
  parameters_.emplace(trainable, plan_);
  velocity_.assign(plan_.tail_begin, 0.0F);
  sync_.emplace(trainable, plan_, communicator_, strategy_from_name(spec.strategy), clock_);
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
  if (request_.validate) {
    validation_.emplace(data_.validation, recipe_.make_transform(false), spec.batch_per_worker,
                        request_.loader_threads, communicator_);
  }
  log_.emplace(communicator_, emit_, request_.record_steps, request_.trace_path);
  if (!request_.checkpoint_dir.empty()) checkpoints_.emplace(request_.checkpoint_dir);
  if (checkpoints_ && communicator_.rank() == 0) writer_.emplace(*checkpoints_);
  if (request_.resume) resume();
  agree_on_start();
}

/// Completes the spec by what only the trainer knows, and keeps it for the record.
void Trainer::resolve_spec(record::RunStarted started) {
  auto& spec = request_.spec;
  spec.workers = communicator_.size();
  spec.backend = communicator_.backend();
  spec.data = data_.facts();
  spec.parameters = network_->parameter_count();
  if (spec.learning_rate <= 0) spec.learning_rate = recipe_.learning_rate;
  if (spec.momentum < 0) spec.momentum = recipe_.momentum;
  if (spec.weight_decay < 0) spec.weight_decay = recipe_.weight_decay;
  if (spec.schedule.empty()) spec.schedule = recipe_.schedule;
  if (spec.bucket_bytes == 0) spec.bucket_bytes = kDefaultBucketBytes;
  schedule_ = schedule_from_name(spec.schedule, recipe_.warmup_fraction);
  started_ = std::move(started);
  started_.spec = spec;
}

/// Parameters and buffers become those of rank 0.
void Trainer::agree_on_start() {
  communicator_.broadcast(std::as_writable_bytes(parameters_->values()), 0);
  share_buffers();
}

void Trainer::share_buffers() {
  for (auto& buffer : network_->buffers()) {
    auto dense = buffer.contiguous();
    communicator_.broadcast({static_cast<std::byte*>(dense.data_ptr()), dense.nbytes()}, 0);
    if (!dense.is_same(buffer)) buffer.copy_(dense);
  }
}

void Trainer::resume() {
  if (!checkpoints_) {
    throw Error(ErrorKind::kUsage, "--resume without --checkpoint", "say where the checkpoints are");
  }
  // Every rank reads it: the same file, and no rank has to send what another can read.
  // In the middle of an epoch the order of examples hangs on the global batch; between two it does not.
  auto checkpoint = checkpoints_->read_newest([this](const Checkpoint& one) {
    return one.position.step == 0 || one.identity.global_batch == request_.spec.global_batch();
  });
  if (!checkpoint) checkpoint = checkpoints_->read_newest();
  if (!checkpoint) {
    if (communicator_.rank() == 0) {
      log_info(fmt::format("no checkpoint in {} yet: starting from the beginning",
                           request_.checkpoint_dir));
    }
    return;
  }
  const auto& identity = checkpoint->identity;
  const auto& spec = request_.spec;
  if (identity.recipe != spec.recipe || identity.parameters != spec.parameters) {
    throw Error(ErrorKind::kData,
                fmt::format("the checkpoint in {} is of recipe {} with {} parameters, not of {} with {}",
                            request_.checkpoint_dir, identity.recipe, identity.parameters, spec.recipe,
                            spec.parameters),
                "resume with that recipe, or give another --checkpoint folder");
  }
  if (identity.seed != spec.seed ||
      (checkpoint->position.step > 0 && identity.global_batch != spec.global_batch())) {
    throw Error(ErrorKind::kData,
                fmt::format("the checkpoint in {} was made with seed {} and global batch {}, not {} and {}",
                            request_.checkpoint_dir, identity.seed, identity.global_batch, spec.seed,
                            spec.global_batch()),
                "in the middle of an epoch both must stay the same");
  }
  copy_tensors(checkpoint->model, model_tensors());
  copy_tensors(checkpoint->velocity, velocity_tensors());
  position_ = checkpoint->position;
  // With another global batch an epoch has another number of steps.
  if (identity.global_batch != spec.global_batch() && spec.max_steps == 0) {
    position_.total = (position_.epoch - 1) * steps_per_epoch_;
  }
}

void Trainer::run() {
  began_ = progress_at_ = clock_.monotonic();
  started_.started_wall_ns = clock_.wall();
  started_.steps_per_epoch = steps_per_epoch_;
  started_.first_epoch = position_.epoch;
  if (communicator_.rank() == 0) emit_(started_);

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
  const int micro_steps = request_.spec.accumulate;
  recorder_.begin(epoch, position_.total);
  sync_->begin_step(micro_steps);
  Tally tally;
  std::int64_t examples = 0, global = 0;
  for (int micro = 0; micro < micro_steps; ++micro) {
    auto batch = loader_->next(Seconds(request_.timeout_s));
    recorder_.end_phase(Phase::kInputWait);
    if (!batch) throw Error(ErrorKind::kInternal, "the loader ended before the epoch");
    global = batch->global_count();
    examples += batch->count();
    const auto loss = batch->count() > 0 ? forward(*batch, tally) : torch::Tensor();
    recorder_.end_phase(Phase::kForward);
    // Backward hands over the last bucket, so what rides in it must be there before.
    if (micro + 1 == micro_steps) {
      StepBallot(sync_->tail())
          .cast(communicator_.rank(), tally.loss_share, tally.correct, stop_.load());
    }
    if (loss.defined()) loss.backward();
  }
  sync_->hand_over_rest();
  recorder_.end_phase(Phase::kBackward);
  recorder_.ready();
  sync_->finish();
  recorder_.end_phase(Phase::kTransfer);
  check_loss(epoch, step);
  learning_rate_ = request_.spec.learning_rate * schedule_.factor(position_.total, total_steps_);
  sgd_step(parameters_->values(), sync_->gradients().first(plan_.tail_begin), velocity_,
           {.learning_rate = static_cast<float>(learning_rate_),
            .momentum = static_cast<float>(request_.spec.momentum),
            .weight_decay = static_cast<float>(request_.spec.weight_decay)});
  recorder_.end_phase(Phase::kOptimizer);

  const StepBallot ballot(sync_->tail());
  last_loss_ = ballot.mean_loss();
  position_.loss_sum += last_loss_ * static_cast<double>(global);
  position_.correct += ballot.correct();
  position_.examples += global;
  ++position_.step;
  ++position_.total;
  if (request_.check_ranks) check_ranks(epoch, step);
  log_->add(recorder_.end(examples), sync_->handed_over());
  return ballot.anyone_stops() ? StepOutcome::kStop : StepOutcome::kGoOn;
}

/// The batch's part of the mean loss over the global batch, ready for backward. Gradients are summed
/// over ranks and micro-steps, so each batch is weighted by its share.
torch::Tensor Trainer::forward(const data::Batch& batch, Tally& tally) {
  const auto images = images_of(batch, transform_->output_shape(), transform_->output_order());
  const auto scores = network_->forward(images);
  const double weight =
      static_cast<double>(batch.count()) / static_cast<double>(batch.global_count());
  auto loss = torch::nn::functional::cross_entropy(scores, labels_of(batch));
  if (weight != 1) loss = loss * weight;
  tally.loss_share += loss.item<double>();
  tally.correct += count_correct(scores, batch);
  return loss;
}

void Trainer::check_loss(int epoch, std::int64_t step) {
  const StepBallot ballot(sync_->tail());
  const int bad = ballot.ranks_without_finite_loss();
  if (bad == 0 || request_.keep_going) return;
  const std::string where =
      bad == 1 ? fmt::format("rank {}", ballot.rank_without_finite_loss()) : fmt::format("{} ranks", bad);
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

void Trainer::finish_epoch(int epoch, Nanoseconds began, std::int64_t examples_before) {
  record::EpochResult result;
  result.epoch = epoch;
  result.train_s = seconds(clock_.monotonic() - began);
  log_->flush();
  result.examples = position_.examples;
  result.train_loss = position_.loss_sum / static_cast<double>(position_.examples);
  result.train_accuracy = position_.correct / static_cast<double>(position_.examples);
  result.learning_rate = learning_rate_;
  result.examples_per_s =
      static_cast<double>(position_.examples - examples_before) / result.train_s;
  // Running statistics of batch norms drift apart between ranks; rank 0's count, as everywhere.
  share_buffers();
  if (validation_) {
    const Nanoseconds validation_began = clock_.monotonic();
    const auto validated = validation_->run(*network_);
    result.val_loss = validated.loss;
    result.val_accuracy = validated.accuracy;
    result.val_s = seconds(clock_.monotonic() - validation_began);
  }
  if (communicator_.rank() == 0) emit_(result);
  if (position_.step == steps_per_epoch_) {
    position_ = {.epoch = epoch + 1, .step = 0, .total = position_.total};
  }
  if (checkpoints_) save_checkpoint();
  progress_at_ = clock_.monotonic();
  progress_examples_ = 0;
}

void Trainer::report_progress(int epoch, std::int64_t step) {
  if (communicator_.rank() != 0) return;
  const Nanoseconds now = clock_.monotonic();
  progress_examples_ += request_.spec.global_batch();
  if (now - progress_at_ < kProgressInterval) return;
  emit_(record::Progress{.epoch = epoch,
                         .step = step,
                         .steps_per_epoch = steps_per_epoch_,
                         .examples_per_s = static_cast<double>(progress_examples_) /
                                           seconds(now - progress_at_),
                         .loss = last_loss_});
  progress_at_ = now;
  progress_examples_ = 0;
}

std::vector<NamedTensor> Trainer::model_tensors() const {
  std::vector<NamedTensor> tensors;
  for (const auto& item : network_->named_parameters()) tensors.push_back({item.key(), item.value()});
  for (const auto& item : network_->named_buffers()) tensors.push_back({item.key(), item.value()});
  return tensors;
}

std::vector<NamedTensor> Trainer::velocity_tensors() {
  const auto flat = torch::from_blob(velocity_.data(), {static_cast<std::int64_t>(velocity_.size())});
  std::vector<NamedTensor> tensors;
  std::size_t index = 0;
  for (const auto& item : network_->named_parameters()) {
    const auto& parameter = item.value();
    if (!parameter.requires_grad()) continue;
    tensors.push_back({item.key(), flat.as_strided(parameter.sizes(), parameter.strides(),
                                                   static_cast<std::int64_t>(plan_.offset_of[index++]))});
  }
  return tensors;
}

void Trainer::save_checkpoint() {
  if (communicator_.rank() != 0) return;
  const auto& spec = request_.spec;
  writer_->write(
      {.identity = {spec.recipe, spec.parameters, spec.seed, spec.global_batch()},
       .position = position_,
       .model = model_tensors(),
       .velocity = velocity_tensors()});
}

void Trainer::tell_of_checkpoints() {
  if (!writer_) return;
  for (const auto& written : writer_->take_written()) emit_(written);
}

std::uint64_t Trainer::parameters_digest() {
  return digest(std::as_bytes(parameters_->values()));
}

void Trainer::end_run(record::RunStatus status) {
  struct Ending {
    std::int64_t peak_memory = 0;
    std::uint64_t digest = 0;
  };
  const auto endings = communicator_.gather_all(Ending{peak_memory_bytes(), parameters_digest()});
  record::RunEnded ended;
  ended.status = status;
  for (const Ending& ending : endings) {
    ended.peak_memory_bytes = std::max(ended.peak_memory_bytes, ending.peak_memory);
    if (ending.digest != endings[0].digest) {
      throw Error(ErrorKind::kInternal, "the ranks ended with different parameters");
    }
  }
  ended.parameters_digest = format_digest(endings[0].digest);
  ended.ended_wall_ns = clock_.wall();
  ended.total_s = seconds(clock_.monotonic() - began_);
  if (communicator_.rank() == 0) emit_(ended);
}

}  // namespace lockstep::train
