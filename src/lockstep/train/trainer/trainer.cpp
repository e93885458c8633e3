#include "lockstep/train/trainer/trainer.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/base/digest.h"
#include "lockstep/base/error.h"
#include "lockstep/base/terminal/log.h"
#include "lockstep/train/sync/device_settings.h"
#include "lockstep/train/trainer/settings.h"

namespace lockstep::train {

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
      timer_(clock, communicator.rank(), device_, request_.phases) {
  auto& spec = request_.spec;
  apply_device_settings(spec);
  if (spec.amp) agree_on_amp_type();
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
        "omit --sync-bn");
  }
  data_ = recipe_.load_data(spec);
  if (!data_.report.empty() && communicator_.rank() == 0) log_warning(data_.report);
  damage_.emplace(data_, communicator_);
  transform_ = recipe_.make_transform(spec, data_, spec.augment);
  torch::manual_seed(static_cast<std::int64_t>(spec.seed));
  task_ = recipe_.make_task(spec, data_);
  // A module from outside may view activations in a way that another layout does not allow.
  spec.channels_last = spec.channels_last && recipe_.name != "script";
  for (const Player& player : task_->players()) {
    player.network->to(device_.torch());
    if (spec.channels_last) use_channels_last(*player.network);
  }
  if (!device_.is_cpu()) {
    gpu_ = measure::VisibleGpu{gpu, Device::pci_id_of(gpu)};
  }
  resolve_spec();

  for (const Player& player : task_->players()) {
    const auto rate_of = [this](const std::string& name) { return task_->rate_of(name); };
    learners_.push_back(std::make_unique<Learner>(*player.network, spec, communicator_, clock_,
                                                  rate_of, player.name));
  }
  if (spec.bucket_auto) {
    std::uint64_t largest = 0;
    for (const auto& learner : learners_) {
      largest = std::max(largest, learner->gradient_bytes().count);
    }
    tuner_.emplace(largest);
  }
  loss_sums_.resize(learners_.size() - 1);
  if (spec.sync_batch_norm && communicator_.size() > 1) moments_.emplace(communicator_);
  const data::SamplerOptions sampler{.examples = data_.train->size(),
                                     .batch = spec.batch_per_worker,
                                     .accumulate = spec.accumulate,
                                     .rank = communicator_.rank(),
                                     .world = communicator_.size(),
                                     .seed = spec.seed};
  feed_.emplace(data_.train, transform_, sampler,
                data::LoaderOptions{.threads = request_.loader_threads, .seed = spec.seed}, device_,
                clock_, Seconds(request_.timeout_s));
  steps_per_epoch_ = feed_->steps_per_epoch();
  total_steps_ = steps_per_epoch_ * spec.epochs;
  if (spec.max_steps > 0) total_steps_ = std::min(total_steps_, spec.max_steps);
  schedule_ = make_schedule(spec, recipe_, steps_per_epoch_, total_steps_);
  if (schedule_.shape == record::ScheduleShape::kPlateau)
    plateau_.emplace(spec.lr_gamma, spec.patience);
  if (request_.validate && data_.validation) {
    validation_.emplace(data_.validation, recipe_.make_transform(spec, data_, false),
                        spec.batch_per_worker, request_.loader_threads, communicator_, clock_,
                        device_);
  }
  if (plateau_ && !validation_) {
    throw Error(ErrorKind::kUsage, "--schedule plateau requires a validation set; none was loaded",
                "choose another --schedule");
  }
  log_.emplace(communicator_, emit_, request_.record_steps, request_.trace_path, !device_.is_cpu());
  if (!request_.checkpoint_dir.empty()) checkpoints_.emplace(request_.checkpoint_dir);
  if (checkpoints_ && communicator_.rank() == 0) writer_.emplace(*checkpoints_);
  if (request_.resume) resume();
  agree_on_start();
  started_ = std::move(started);
  started_.spec = spec;
}

/// GPUs before compute capability 8.0 have no arithmetic in bfloat16 and emulate it slowly.
void Trainer::agree_on_amp_type() {
  constexpr int kFirstWithBrain = 80;
  auto& spec = request_.spec;
  const int capability = device_.compute_capability();
  const bool slow = capability > 0 && capability < kFirstWithBrain;
  if (slow && spec.amp_type == record::AmpType::kBrain) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("--amp-type bf16 would be slow on this GPU, whose compute capability is "
                    "{}.{}; bf16 needs 8.0",
                    capability / 10, capability % 10),
        "use --amp-type fp16 or auto");
  }
  if (spec.amp_type == record::AmpType::kAuto) {
    const auto all = communicator_.gather_all(slow ? 1 : 0);
    const bool any_slow = std::find(all.begin(), all.end(), 1) != all.end();
    spec.amp_type = any_slow ? record::AmpType::kHalf : record::AmpType::kBrain;
  }
  device_.use_amp_type(spec.amp_type == record::AmpType::kHalf ? torch::kHalf : torch::kBFloat16);
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
  spec.bucket_auto = spec.bucket_auto && spec.workers > 1;  // one worker sends nothing
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
  feed_->start_epoch(epoch, position_.step);
  // Of an epoch that is resumed in its middle, only the rest was timed here.
  const std::int64_t examples_before = position_.examples;
  const Nanoseconds began = clock_.monotonic();
  while (position_.step < steps_per_epoch_ && position_.total < total_steps_) {
    const StepOutcome outcome = train_step(epoch, position_.step);
    log_->flush_if_due();
    report_progress(epoch, position_.step);
    report_checkpoints();
    if (outcome == StepOutcome::kStop && position_.total < total_steps_) {
      timer_.finish();
      log_timed_steps();
      log_->flush();
      for (const auto& learner : learners_) learner->average_state();
      if (checkpoints_) save_checkpoint();
      return false;
    }
    if (checkpoints_ && request_.checkpoint_every > 0 && position_.step < steps_per_epoch_ &&
        position_.total % request_.checkpoint_every == 0) {
      // A run that is killed later is resumed after these steps: nothing repeats what is lost now.
      log_->flush();
      save_checkpoint();
    }
  }
  return finish_epoch(epoch, began, examples_before);
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
