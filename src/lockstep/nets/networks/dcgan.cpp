#include "lockstep/nets/networks/dcgan.h"

#include "lockstep/nets/layers/batch_norm.h"

namespace lockstep::nets {

namespace nn = torch::nn;

namespace {

constexpr int kWidth = 64;  ///< channels next to the image; each layer further in has twice as many
constexpr int kImageChannels = 3;

/// Weights from N(0, 0.02), norms from N(1, 0.02), as the paper has it: with wider ones the two
/// networks do not find together.
void initialise(nn::Module& network) {
  const torch::NoGradGuard no_grad;
  for (const auto& module : network.modules(false)) {
    if (auto* norm = module->as<nn::BatchNorm2d>()) {
      norm->weight.normal_(1.0, 0.02);
      norm->bias.zero_();
    } else if (auto* down = module->as<nn::Conv2d>()) {
      down->weight.normal_(0.0, 0.02);
    } else if (auto* up = module->as<nn::ConvTranspose2d>()) {
      up->weight.normal_(0.0, 0.02);
    }
  }
}

nn::ConvTranspose2d up(int from, int to, int stride, int padding) {
  return nn::ConvTranspose2d(
      nn::ConvTranspose2dOptions(from, to, 4).stride(stride).padding(padding).bias(false));
}

nn::Conv2d down(int from, int to, int stride, int padding) {
  return nn::Conv2d(nn::Conv2dOptions(from, to, 4).stride(stride).padding(padding).bias(false));
}

nn::LeakyReLU leaky() {
  return nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2).inplace(true));
}

}  // namespace

DcganGenerator::DcganGenerator() {
  nn::Sequential main;
  main->push_back(up(kDcganLatent, 8 * kWidth, 1, 0));
  int channels = 8 * kWidth;
  for (; channels > kWidth; channels /= 2) {
    main->push_back(nn::BatchNorm2d(channels));
    main->push_back(nn::ReLU(nn::ReLUOptions().inplace(true)));
    main->push_back(up(channels, channels / 2, 2, 1));
  }
  main->push_back(nn::BatchNorm2d(channels));
  main->push_back(nn::ReLU(nn::ReLUOptions().inplace(true)));
  main->push_back(up(channels, kImageChannels, 2, 1));
  main->push_back(nn::Tanh());
  main_ = register_module("main", main);
  initialise(*this);
}

torch::Tensor DcganGenerator::forward(const torch::Tensor& latent) {
  return run_layers(*main_, latent.view({latent.size(0), kDcganLatent, 1, 1}));
}

DcganDiscriminator::DcganDiscriminator() {
  nn::Sequential main;
  main->push_back(down(kImageChannels, kWidth, 2, 1));
  main->push_back(leaky());
  int channels = kWidth;
  for (; channels < 8 * kWidth; channels *= 2) {
    main->push_back(down(channels, 2 * channels, 2, 1));
    main->push_back(nn::BatchNorm2d(2 * channels));
    main->push_back(leaky());
  }
  main->push_back(down(channels, 1, 1, 0));
  main_ = register_module("main", main);
  initialise(*this);
}

torch::Tensor DcganDiscriminator::forward(const torch::Tensor& images) {
  return run_layers(*main_, images).flatten();
}

}  // namespace lockstep::nets
