#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lockstep/base/digest.h"
#include "lockstep/base/error.h"
#include "lockstep/train/trainer/trainer.h"

// What a run reports while it is in progress.
namespace lockstep::train {
namespace {

constexpr Nanoseconds kProgressInterval = 200'000'000;

double seconds(Nanoseconds time) {
  return static_cast<double>(time) * 1e-9;
}

std::int64_t peak_memory_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

}  // namespace

/// False when the validation was cut short because the run was asked to stop.
bool Trainer::validate(record::EpochResult& result) {
  const Nanoseconds began = clock_.monotonic();
  // A resumed run has to continue with the learning rate that the complete validation leads to.
  static const std::atomic<bool> kToTheEnd = false;
  const auto validated = validation_->run(*task_, plateau_ ? kToTheEnd : stop_);
  if (!validated) return false;
  result.val_loss = validated->loss;
  result.val_accuracy = validated->accuracy;
  result.val_s = seconds(clock_.monotonic() - began);
  if (plateau_) plateau_->observe(validated->loss);
  return true;
}

/// False when the run was asked to stop before the epoch was validated.
bool Trainer::finish_epoch(int epoch, Nanoseconds began, std::int64_t examples_before) {
  record::EpochResult result;
  result.epoch = epoch;
  timer_.finish();
  result.train_s = seconds(clock_.monotonic() - began);
  log_timed_steps();
  log_->flush();
  result.examples = position_.examples;
  result.train_loss = position_.loss_sum / static_cast<double>(position_.examples);
  if (task_->has_accuracy()) {
    result.train_accuracy = position_.correct / static_cast<double>(position_.examples);
  }
  add_losses_of_players(result);
  result.learning_rate = learning_rate_;
  result.examples_per_s =
      static_cast<double>(position_.examples - examples_before) / result.train_s;
  for (const auto& learner : learners_) learner->average_state();
  if (const auto noise = learners_[0]->noise_scale()) {
    result.noise_scale = noise->value;
    result.noise_scale_low = noise->low;
    if (noise->high) result.noise_scale_high = *noise->high;
  }
  // Running statistics of batch norms drift apart between ranks; those of rank 0 are used, as
  // everywhere.
  share_buffers();
  const bool validated = !validation_ || validate(result);
  report_utilisation(epoch);
  damage_->report_new();
  if (communicator_.rank() == 0) {
    emit_(result);
    task_->finish_epoch(epoch);
  }
  if (position_.step == steps_per_epoch_) {
    position_ = {.epoch = epoch + 1, .step = 0, .total = position_.total};
    std::fill(loss_sums_.begin(), loss_sums_.end(), 0.0);
  }
  if (checkpoints_) save_checkpoint();
  begin_progress();
  return validated;
}

/// Where a task names the losses of its players, they are reported besides the train loss.
void Trainer::add_losses_of_players(record::EpochResult& result) const {
  for (std::size_t i = 0; i < task_->players().size(); ++i) {
    const double sum = i == 0 ? position_.loss_sum : loss_sums_[i - 1];
    const double mean = sum / static_cast<double>(position_.examples);
    const std::string& name = task_->players()[i].loss_name;
    if (!name.empty() && std::isfinite(mean)) result.metrics[name] = mean;
  }
}

void Trainer::report_progress(int epoch, std::int64_t step) {
  if (communicator_.rank() != 0) return;
  const Nanoseconds now = clock_.monotonic();
  progress_examples_ += request_.spec.global_batch();
  if (now - progress_at_ < kProgressInterval) return;
  // Where ranks seldom agree, the loss is not new each time.
  if (progress_loss_.examples > 0) {
    last_loss_ = progress_loss_.sum / static_cast<double>(progress_loss_.examples);
  }
  emit_(record::Progress{
      .epoch = epoch,
      .step = step,
      .steps_per_epoch = steps_per_epoch_,
      .examples_per_s = static_cast<double>(progress_examples_) / seconds(now - progress_at_),
      .loss = last_loss_});
  begin_progress();
}

void Trainer::begin_progress() {
  progress_at_ = clock_.monotonic();
  progress_examples_ = 0;
  progress_loss_ = {};
}

/// Gathers how busy the ranks were, in so few samples that they fit into one exchange.
void Trainer::report_utilisation(int epoch) {
  struct Samples {
    std::size_t count = 0;
    std::array<record::Utilisation, measure::UtilisationSampler::kKept> of{};
  } mine;
  for (const auto& sample : sampler_->take(epoch)) mine.of[mine.count++] = sample;
  record::UtilisationBlock block;
  for (const Samples& rank : communicator_.gather_all(mine)) {
    block.samples.insert(block.samples.end(), rank.of.begin(), rank.of.begin() + rank.count);
  }
  if (communicator_.rank() == 0) emit_(std::move(block));
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
