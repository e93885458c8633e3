#include "lockstep/train/recipes/gan_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"
#include "lockstep/base/terminal/log.h"
#include "lockstep/data/files/write_png.h"

namespace lockstep::train {
namespace {

constexpr int kSheetSide = 8;
constexpr std::uint64_t kTrainingStream = 0x67616e, kSheetStream = 0x73686565;

/// Rows `first` to `first + count` of the latent vectors of a step.
torch::Tensor latent(std::uint64_t seed, std::uint64_t step, std::int64_t first,
                     std::int64_t count) {
  auto values = torch::empty({count, nets::kDcganLatent});
  float* out = values.data_ptr<float>();
  for (std::int64_t i = 0; i < count; ++i) {
    Rng rng(seed, step, static_cast<std::uint64_t>(first + i));
    for (int k = 0; k < nets::kDcganLatent; ++k) *out++ = static_cast<float>(rng.normal());
  }
  return values;
}

/// Mean of the cross entropy of logits against "real" or "made".
torch::Tensor score_loss(const torch::Tensor& logits, bool as_real) {
  return torch::softplus(as_real ? -logits : logits).mean();
}

torch::Tensor count_above_zero(const torch::Tensor& logits) {
  return (logits.detach() > 0).sum();
}

/// On the device of `like`; the copy there is queued with what uses it.
torch::Tensor moved_to(const torch::Tensor& like, const torch::Tensor& host) {
  return like.is_cpu() ? host : host.pin_memory().to(like.device(), /*non_blocking=*/true);
}

}  // namespace

GanTask::GanTask(std::uint64_t seed, std::string samples)
    : seed_(seed),
      samples_(std::move(samples)),
      discriminator_(std::make_shared<nets::DcganDiscriminator>()),
      generator_(std::make_shared<nets::DcganGenerator>()),
      players_{{"discriminator", discriminator_, "loss_D"}, {"generator", generator_, "loss_G"}} {
  if (samples_.empty()) return;
  std::error_code problem;
  std::filesystem::create_directories(samples_, problem);
  if (problem) {
    throw Error(ErrorKind::kData, fmt::format("cannot create the folder {}", samples_),
                "give --samples a writable folder");
  }
}

torch::Tensor GanTask::loss(std::size_t player, const Minibatch& batch, Tally& correct) {
  return player == 0 ? discriminator_loss(batch, correct) : generator_loss(batch);
}

torch::Tensor GanTask::discriminator_loss(const Minibatch& batch, Tally& correct) {
  const auto vectors = latent(seed_ ^ kTrainingStream, static_cast<std::uint64_t>(batch.step),
                              batch.first, batch.count);
  // Kept with its graph: the generator's turn continues from here.
  const auto made = generator_->forward(moved_to(batch.images, vectors));
  made_.resize(std::max<std::size_t>(made_.size(), static_cast<std::size_t>(batch.micro) + 1));
  made_[static_cast<std::size_t>(batch.micro)] = made;
  const auto of_real = discriminator_->forward(batch.images);
  const auto of_made = discriminator_->forward(made.detach());
  correct.add(count_above_zero(of_real), 0.5);
  correct.add(static_cast<double>(batch.count) / 2);
  correct.add(count_above_zero(of_made), -0.5);
  return score_loss(of_real, true) + score_loss(of_made, false);
}

torch::Tensor GanTask::generator_loss(const Minibatch& batch) {
  // The discriminator only passes gradients on: its own would be computed in vain and would wrongly
  // be added to its next step's.
  for (auto& parameter : discriminator_->parameters()) parameter.set_requires_grad(false);
  const auto made = std::exchange(made_[static_cast<std::size_t>(batch.micro)], torch::Tensor());
  auto loss = score_loss(discriminator_->forward(made), true);
  for (auto& parameter : discriminator_->parameters()) parameter.set_requires_grad(true);
  return loss;
}

void GanTask::evaluate(const Minibatch& batch, EvaluationSums& sums) {
  sums.loss.add(score_loss(discriminator_->forward(batch.images), true),
                static_cast<double>(batch.count));
  sums.examples += static_cast<double>(batch.count);
}

void GanTask::finish_epoch(int epoch) {
  if (samples_.empty()) return;
  const torch::NoGradGuard no_grad;
  generator_->eval();
  const auto vectors = latent(seed_ ^ kSheetStream, 0, 0, kSheetSide * kSheetSide);
  const auto images = generator_->forward(vectors.to(generator_->parameters()[0].device())).cpu();
  generator_->train();
  // Tiles of N x 3 x 64 x 64 in [-1, 1] to one interleaved picture of bytes.
  const int side = kSheetSide * nets::kDcganSide;
  const auto sheet = images.add(1)
                         .mul(127.5)
                         .round()
                         .to(torch::kByte)
                         .view({kSheetSide, kSheetSide, 3, nets::kDcganSide, nets::kDcganSide})
                         .permute({0, 3, 1, 4, 2})
                         .contiguous();
  const std::string path = fmt::format("{}/epoch-{:03}.png", samples_, epoch);
  data::write_png(
      path, {sheet.data_ptr<std::uint8_t>(), {3, side, side}, data::PixelOrder::kInterleaved});
  log_info(fmt::format("samples of epoch {} written to {}", epoch, path));
}

}  // namespace lockstep::train
