#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/comm/communicator.h"
#include "lockstep/measure/utilisation.h"
#include "lockstep/record/event.h"
#include "lockstep/record/train_request.h"
#include "lockstep/train/checkpoint/checkpoint.h"
#include "lockstep/train/checkpoint/checkpoint_writer.h"
#include "lockstep/train/optim/schedule.h"
#include "lockstep/train/recipes/recipe.h"
#include "lockstep/train/recipes/task.h"
#include "lockstep/train/sync/device.h"
#include "lockstep/train/sync/rank_moments.h"
#include "lockstep/train/trainer/bucket_tuner.h"
#include "lockstep/train/trainer/damage_report.h"
#include "lockstep/train/trainer/input_feed.h"
#include "lockstep/train/trainer/learner.h"
#include "lockstep/train/trainer/step_log.h"
#include "lockstep/train/trainer/step_timer.h"
#include "lockstep/train/trainer/validation.h"

namespace lockstep::train {

/// The measured default: see bench/README.md.
inline constexpr std::uint64_t kDefaultBucketBytes = 4'000'000;

/// Synchronous data-parallel training of one rank, from the first step to the last. Every rank runs
/// one with the same request.
class Trainer {
 public:
  /// `started` has what the program determined (machine, build); the trainer completes the spec in
  /// it. `gpu` is the number of the rank's GPU among those it sees. Only rank 0 calls `emit`.
  /// `stop` may be set from a signal handler at any time. Collective; blocks while data is read and
  /// ranks agree. Throws kData for bad data or an unfit checkpoint.
  Trainer(record::TrainRequest request, record::RunStarted started,
          comm::Communicator& communicator, const Clock& clock, EventSink emit,
          const std::atomic<bool>& stop, int gpu = 0);

  /// Trains; emits RunStarted first and RunEnded last. Returns normally when done or stopped.
  /// Throws kPeer when another rank is lost and kData when a loss is not finite.
  void run();

 private:
  enum class StepOutcome { kGoOn, kStop };

  void resolve_spec();
  void agree_on_amp_type();
  void agree_on_start();
  void resume();
  bool train_epoch(int epoch);
  StepOutcome train_step(int epoch, std::int64_t step);
  StepShare compute_gradients(std::size_t player, std::vector<Minibatch>& parts);
  Minibatch next_part();
  void log_timed_steps();
  void try_bucket_sizes();
  bool everyone_has_examples(std::int64_t global) const;
  torch::Tensor forward(std::size_t player, const Minibatch& part, StepShare& share);
  StepOutcome read_status(int epoch, std::int64_t step);
  void check_loss(int epoch, std::int64_t step);
  void check_ranks(int epoch, std::int64_t step);
  bool finish_epoch(int epoch, Nanoseconds began, std::int64_t examples_before);
  bool validate(record::EpochResult& result);
  void add_losses_of_players(record::EpochResult& result) const;
  void report_progress(int epoch, std::int64_t step);
  void begin_progress();
  void report_utilisation(int epoch);
  void share_buffers();
  void save_checkpoint();
  void report_checkpoints();
  void end_run(record::RunStatus status);
  std::uint64_t parameters_digest();
  std::map<std::string, double> figures() const;

  record::TrainRequest request_;
  const Recipe& recipe_;
  comm::Communicator& communicator_;
  const Clock& clock_;
  EventSink emit_;
  const std::atomic<bool>& stop_;

  Device device_;
  std::optional<measure::VisibleGpu> gpu_;
  record::RunStarted started_;
  Schedule schedule_;
  std::optional<Plateau> plateau_;
  data::DataSplit data_;
  std::shared_ptr<const data::Transform> transform_;
  std::unique_ptr<Task> task_;
  std::vector<std::unique_ptr<Learner>> learners_;  ///< one for each player of the task
  std::optional<RankMoments> moments_;              ///< with --sync-bn
  std::optional<InputFeed> feed_;
  std::optional<Validation> validation_;
  std::optional<CheckpointFolder> checkpoints_;
  std::optional<CheckpointWriter> writer_;  ///< of rank 0
  std::optional<StepLog> log_;
  std::optional<DamageReport> damage_;
  std::optional<measure::UtilisationSampler> sampler_;
  StepTimer timer_;
  std::optional<BucketTuner> tuner_;  ///< with --bucket auto

  std::int64_t steps_per_epoch_ = 0;
  std::int64_t total_steps_ = 0;
  Position position_;
  double learning_rate_ = 0;
  Nanoseconds began_ = 0;
  Nanoseconds progress_at_ = 0;
  std::int64_t progress_examples_ = 0;
  struct {
    double sum = 0;
    std::int64_t examples = 0;
  } progress_loss_;                      ///< since progress was last reported
  double last_loss_ = record::kUnknown;  ///< as reported then
  std::vector<double> loss_sums_;        ///< of the players after the first, in this epoch
  std::int64_t unread_examples_ = 0;     ///< trained on since the ranks last agreed
};

}  // namespace lockstep::train
