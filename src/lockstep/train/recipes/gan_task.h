#pragma once

#include <memory>
#include <string>

#include "lockstep/nets/networks/dcgan.h"
#include "lockstep/train/recipes/task.h"

namespace lockstep::train {

/// DCGAN: the discriminator learns to distinguish images from the generator's, then the generator
/// learns to be taken for real by it. Both losses are the usual cross entropies, the generator's in
/// the form that does not vanish (Goodfellow et al. 2014). Latent vectors are keyed by seed, step
/// and place in the global batch, so they do not depend on the number of workers.
class GanTask final : public Task {
 public:
  /// After each epoch a sheet of 8 x 8 images goes to `samples`/epoch-NNN.png, always from the same
  /// latent vectors; "" = none.
  GanTask(std::uint64_t seed, std::string samples);

  const std::vector<Player>& players() const override { return players_; }
  torch::Tensor loss(std::size_t player, const Minibatch& batch, Tally& correct) override;
  /// The fraction of images, real and generated, that the discriminator classifies correctly.
  bool has_accuracy() const override { return true; }
  void evaluate(const Minibatch& batch, EvaluationSums& sums) override;
  void finish_epoch(int epoch) override;

 private:
  torch::Tensor discriminator_loss(const Minibatch& batch, Tally& correct);
  torch::Tensor generator_loss(const Minibatch& batch);

  std::uint64_t seed_;
  std::string samples_;
  std::shared_ptr<nets::DcganDiscriminator> discriminator_;
  std::shared_ptr<nets::DcganGenerator> generator_;
  std::vector<Player> players_;
  std::vector<torch::Tensor> made_;  ///< this step's images of the generator, by micro-step
};

}  // namespace lockstep::train
