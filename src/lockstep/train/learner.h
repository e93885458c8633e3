#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/measure/noise_scale.h"
#include "lockstep/record/run_spec.h"
#include "lockstep/train/checkpoint.h"
#include "lockstep/train/flat_parameters.h"
#include "lockstep/train/gradient_sync.h"
#include "lockstep/train/parameter_sharing.h"
#include "lockstep/train/step_ballot.h"
#include "lockstep/train/tensor_optimizer.h"

namespace lockstep::train {

/// What one rank did in one step.
struct StepShare {
  double loss_sum = 0;  ///< over its examples
  double correct = 0;
  std::int64_t examples = 0;  ///< of this rank
  std::int64_t global = 0;    ///< of all ranks
  bool stop = false;          ///< it was asked to stop
};

/// One network and all that moves it: flat parameters, gradients summed over ranks, an optimizer,
/// and the noise scale that falls out of the sums. A step, on every rank:
///
///   begin_step(A);
///   for A micro-batches: loss; before the last backward cast(share); backward
///   hand_over(); sum(); move(rate); if (share(last)) read ballot()
///
/// One thread. The network must outlive it.
class Learner {
 public:
  /// The spec must be complete. `rate_of` gives the part of the learning rate by the name of a
  /// parameter. Where several learners share a checkpoint, `name` tells theirs apart. Collective;
  /// blocks.
  Learner(torch::nn::Module& network, const record::RunSpec& spec, comm::Communicator& communicator,
          const Clock& clock, const std::function<double(const std::string&)>& rate_of,
          std::string name = "");

  void begin_step(int micro_steps) { sync_->begin_step(micro_steps); }
  /// Backward hands over the last bucket, so what rides in it must be there before.
  void cast(const StepShare& share);
  /// What a loss that was divided by the global batch must be multiplied by before backward: 1 but
  /// for kLocal, where a rank's own examples are all there are.
  double loss_factor(std::int64_t examples, std::int64_t global) const;

  /// Does not block; from here on communication is exposed.
  void hand_over() { sync_->hand_over_rest(); }
  void sum();
  void move(double learning_rate);
  /// Whether all ranks hold the same parameters now and the ballot is theirs together.
  bool share(bool last_of_epoch);
  StepBallot ballot() { return StepBallot(sync_->tail()); }
  /// When each bucket of this step was handed over.
  std::span<const Nanoseconds> handed_over() const { return sync_->handed_over(); }

  /// Makes also those things agree that kLocal lets drift. Collective; blocks. After share() said
  /// yes.
  void settle();

  /// On the host.
  std::span<float> parameters();
  /// After parameters() were written to from outside.
  void publish() { parameters_->publish(); }
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

  torch::nn::Module& network_;
  std::string name_;
  comm::Communicator& communicator_;
  Strategy strategy_;
  std::int64_t full_batch_;
  comm::BucketPlan plan_;
  std::optional<FlatParameters> parameters_;
  std::optional<GradientSync> sync_;
  std::unique_ptr<TensorOptimizer> optimizer_;
  std::optional<ParameterSharing> sharing_;
  StepShare cast_;
  measure::NoiseScale noise_;
};

}  // namespace lockstep::train
