#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/comm/communicator.h"
#include "lockstep/data/loader.h"
#include "lockstep/measure/step_recorder.h"
#include "lockstep/record/event.h"
#include "lockstep/record/train_request.h"
#include "lockstep/train/checkpoint.h"
#include "lockstep/train/checkpoint_writer.h"
#include "lockstep/train/flat_parameters.h"
#include "lockstep/train/gradient_sync.h"
#include "lockstep/train/recipe.h"
#include "lockstep/train/schedule.h"
#include "lockstep/train/step_log.h"
#include "lockstep/train/validation.h"

namespace lockstep::train {

/// The measured default: see bench/README.md.
inline constexpr std::uint64_t kDefaultBucketBytes = 4'000'000;

/// Synchronous data-parallel training of one rank, from the first step to the last. Every rank runs
/// one with the same request.
class Trainer {
 public:
  /// `started` carries what the program knows (machine, build); the trainer completes the spec in it.
  /// Only rank 0 calls `emit`. `stop` may be set from a signal handler at any time. Collective;
  /// blocks while data is read and ranks agree. Throws kData for bad data or an unfit checkpoint.
  Trainer(record::TrainRequest request, record::RunStarted started, comm::Communicator& communicator,
          const Clock& clock, EventSink emit, const std::atomic<bool>& stop);

  /// Trains; emits RunStarted first and RunEnded last. Returns normally when done or stopped. Throws
  /// kPeer when another rank is lost and kData when a loss is not finite.
  void run();

 private:
  enum class StepOutcome { kGoOn, kStop };
  /// What this rank saw in one step.
  struct Tally {
    double loss_share = 0;  ///< of the mean loss over the global batch
    std::int64_t correct = 0;
  };

  void resolve_spec(record::RunStarted started);
  void agree_on_start();
  void resume();
  bool train_epoch(int epoch);
  StepOutcome train_step(int epoch, std::int64_t step);
  torch::Tensor forward(const data::Batch& batch, Tally& tally);
  void check_loss(int epoch, std::int64_t step);
  void check_ranks(int epoch, std::int64_t step);
  void finish_epoch(int epoch, Nanoseconds began, std::int64_t examples_before);
  void report_progress(int epoch, std::int64_t step);
  void share_buffers();
  void save_checkpoint();
  void tell_of_checkpoints();
  void end_run(record::RunStatus status);
  std::uint64_t parameters_digest();
  std::vector<NamedTensor> model_tensors() const;
  std::vector<NamedTensor> velocity_tensors();

  record::TrainRequest request_;
  const Recipe& recipe_;
  comm::Communicator& communicator_;
  const Clock& clock_;
  EventSink emit_;
  const std::atomic<bool>& stop_;

  record::RunStarted started_;
  Schedule schedule_;
  data::DataSplit data_;
  std::shared_ptr<const data::Transform> transform_;
  std::shared_ptr<nets::Network> network_;
  comm::BucketPlan plan_;
  std::optional<FlatParameters> parameters_;
  std::vector<float> velocity_;
  std::optional<GradientSync> sync_;
  std::optional<data::Loader> loader_;
  std::optional<Validation> validation_;
  std::optional<CheckpointFolder> checkpoints_;
  std::optional<CheckpointWriter> writer_;  ///< of rank 0
  std::optional<StepLog> log_;
  measure::StepRecorder recorder_;

  std::int64_t steps_per_epoch_ = 0;
  std::int64_t total_steps_ = 0;
  Position position_;
  double learning_rate_ = 0;
  Nanoseconds began_ = 0;
  Nanoseconds progress_at_ = 0;
  std::int64_t progress_examples_ = 0;
  double last_loss_ = record::kUnknown;
};

}  // namespace lockstep::train
