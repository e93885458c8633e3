#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "lockstep/train/recipes/task.h"

namespace lockstep::train {

enum class Loss {
  kCrossEntropy,  ///< scores against a class
  kMse,           ///< predictions against targets, the mean over examples and targets
};

/// Throws kUsage for a name that is neither "cross_entropy" nor "mse".
Loss loss_from_name(std::string_view name);

/// One network that learns what it is shown.
class SupervisedTask : public Task {
 public:
  /// `classes` guards against labels beyond the scores; 0 = not checked.
  SupervisedTask(std::shared_ptr<nets::Network> network, Loss loss, int classes = 0);

  const std::vector<Player>& players() const override { return players_; }
  torch::Tensor loss(std::size_t player, const Minibatch& batch, Tally& correct) override;
  bool has_accuracy() const override { return loss_ == Loss::kCrossEntropy; }
  void evaluate(const Minibatch& batch, EvaluationSums& sums) override;

  /// Parameters whose names do not begin with `fast` get `rate` times the learning rate.
  void set_slow_part(std::string fast, double rate);
  double rate_of(const std::string& parameter) const override;

  /// Called by finish_epoch().
  void set_after_epoch(std::function<void(int epoch)> action) { after_epoch_ = std::move(action); }
  void finish_epoch(int epoch) override;

 private:
  std::vector<Player> players_;
  Loss loss_;
  int classes_;
  std::function<void(int)> after_epoch_;
  std::string fast_;
  double slow_rate_ = 1;
};

}  // namespace lockstep::train
