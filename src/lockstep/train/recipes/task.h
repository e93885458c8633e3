#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

#include "lockstep/nets/networks/network.h"
#include "lockstep/train/recipes/minibatch.h"
#include "lockstep/train/recipes/tally.h"

namespace lockstep::train {

/// A network that a step moves on its own, with its own gradients, optimizer and loss.
struct Player {
  std::string name;  ///< goes before the names of its tensors in checkpoints; "" for the only one
  std::shared_ptr<nets::Network> network;
  std::string loss_name;  ///< under which its loss is reported besides; "" = only as train loss
};

/// Sums over validation examples.
struct EvaluationSums {
  Tally loss;
  Tally correct;
  double examples = 0;
};

/// What is trained: one network and its loss, or several that train against each other. A step goes
/// through the players in order: for each, loss() and backward for every micro-batch, then the sum
/// over ranks, then its optimizer. One thread.
class Task {
 public:
  virtual ~Task() = default;

  virtual const std::vector<Player>& players() const = 0;

  /// The player's mean loss over the micro-batch, ready for backward; correct answers are added to
  /// `correct`. For all players but the first, the batch's tensors are released and only its
  /// numbers are there.
  virtual torch::Tensor loss(std::size_t player, const Minibatch& batch, Tally& correct) = 0;

  /// The learning rate of a parameter as a fraction of the run's. Those with their own rate
  /// must come in one piece at the beginning of the network.
  virtual double rate_of(const std::string& parameter) const { return 1; }

  /// Whether correct answers are defined.
  virtual bool has_accuracy() const = 0;

  /// Adds the batch to the sums. Called without gradients and with all networks in evaluation mode.
  /// Only called for data that has a validation part.
  virtual void evaluate(const Minibatch& batch, EvaluationSums& sums) = 0;

  /// After each epoch, on rank 0 alone, when all ranks have the same networks. May write files;
  /// throws kData when that fails.
  virtual void finish_epoch(int epoch) {}
};

}  // namespace lockstep::train
