#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/measure/noise_scale.h"
#include "lockstep/record/run_spec.h"
#include "lockstep/train/checkpoint/checkpoint.h"
#include "lockstep/train/optim/optimizer.h"
#include "lockstep/train/recipes/tally.h"
#include "lockstep/train/sync/flat_parameters.h"
#include "lockstep/train/sync/gradient_sync.h"
#include "lockstep/train/sync/parameter_sharing.h"
#include "lockstep/train/sync/step_status.h"
#include "lockstep/train/trainer/loss_scale.h"

namespace lockstep::train {

/// What one rank did in one step.
struct StepShare {
  Tally loss_sum;  ///< over its examples
  Tally correct;
  std::int64_t examples = 0;  ///< of this rank
  std::int64_t global = 0;    ///< of all ranks
  bool stop = false;          ///< this rank was asked to stop
};

/// One network and all that trains it: flat parameters, gradients summed over ranks, an optimizer,
/// and the noise scale that falls out of the sums. A step, on every rank:
///
///   begin_step(A);
///   for A micro-batches: loss; before the last backward publish(share); backward
///   hand_over(); queue_sum(); queue_results(); queue_update(rate);
///   read_results(); if (share_parameters(last)) read status()
///
/// What is queued is done at once on a CPU. On a GPU the host waits in read_results() only; in fp16
/// an update needs the results first.
///
/// One thread. The network must outlive it.
class Learner {
 public:
  /// With two workers, 11 million parameters made a step 12 % shorter; with 0.15 million the wait
  /// for all updates took longer than the update of all parameters.
  static constexpr std::size_t kDivideFrom = 1'000'000;

  /// The spec must be complete. `rate_of` gives the fraction of the learning rate by the name
  /// of a parameter. Where several learners share a checkpoint, `name` distinguishes them. Ranks of
  /// a host divide the update of at least `divide_from` parameters. Collective; blocks.
  Learner(torch::nn::Module& network, const record::RunSpec& spec, comm::Communicator& communicator,
          const Clock& clock, const std::function<double(const std::string&)>& rate_of,
          std::string name = "", std::size_t divide_from = kDivideFrom);

  /// Gradients travel in buckets of that size from now on. Between steps; the same on all ranks.
  void use_buckets(Bytes size);
  Bytes gradient_bytes() const { return {plan_.tail_begin * sizeof(float)}; }

  void begin_step(int micro_steps) { sync_->begin_step(micro_steps); }
  /// Sets what travels with the last bucket; before backward hands that over.
  void publish(const StepShare& share);
  /// What a loss that was divided by the global batch must be multiplied by before backward: 1 but
  /// for kLocal, where a rank's own examples are all there are.
  double loss_factor(std::int64_t examples, std::int64_t global) const;

  /// What the loss must be multiplied by besides, so that 16-bit gradients do not vanish; the
  /// update divides by it. 1 but for --amp in fp16.
  double loss_scale() const { return scale_ ? scale_->value() : 1; }

  /// Does not block; from here on communication is exposed.
  void hand_over() { sync_->hand_over_rest(); }
  void queue_sum() { sync_->queue_sums(); }
  void queue_results();
  void queue_update(double learning_rate);
  /// Blocks until all ranks' status is here, not until the update is done. Again in the same step
  /// it does nothing.
  void read_results();
  /// Whether share_parameters() must be called before the parameters are used again. It comes after
  /// read_results(), which is then called after the update.
  bool shares_parameters() const { return sharing_->needed() || common_; }
  /// Whether all ranks have the same parameters now and the status is summed over all of them.
  bool share_parameters(bool last_of_epoch);
  StepStatus status() { return StepStatus(sync_->tail()); }
  /// When each bucket of this step was handed over.
  std::span<const Nanoseconds> handed_over() const { return sync_->handed_over(); }

  /// With kLocal, makes the optimizer state of all ranks agree. Collective; blocks. After
  /// share_parameters() returned true.
  void average_state();

  /// On the host.
  std::span<float> parameters();
  /// After parameters() were changed from outside.
  void parameters_changed() { parameters_->to_device(); }
  std::optional<measure::NoiseScale::Estimate> noise_scale() const { return noise_.estimate(); }

  /// What a checkpoint keeps.
  std::vector<NamedTensor> model_tensors() const;
  std::vector<NamedTensor> optimizer_tensors();
  std::map<std::string, double> figures() const;
  /// After the network's own tensors were restored.
  void restore(const Checkpoint& checkpoint);

 private:
  std::string prefixed(const std::string& name) const;
  torch::Tensor gradients() const;
  bool measures_noise() const;
  bool may_divide(const record::RunSpec& spec) const;
  std::span<float> common_memory();

  torch::nn::Module& network_;
  std::string name_;
  comm::Communicator& communicator_;
  Strategy strategy_;
  std::int64_t full_batch_;
  comm::BucketPlan plan_;
  std::vector<std::int64_t> sizes_;  ///< of the parameters
  /// Parameters and optimizer state lie in memory that all ranks have in common, and each rank
  /// updates its shares of them.
  bool common_ = false;
  std::optional<FlatParameters> parameters_;
  std::optional<GradientSync> sync_;
  std::optional<Optimizer> optimizer_;
  std::optional<ParameterSharing> sharing_;
  StepShare share_;  ///< as published last
  std::optional<LossScale> scale_;
  bool results_read_ = false;  ///< in this step
  measure::NoiseScale noise_;
};

}  // namespace lockstep::train
