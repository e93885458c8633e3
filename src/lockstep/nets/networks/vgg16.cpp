#include "lockstep/nets/networks/vgg16.h"

namespace lockstep::nets {

namespace nn = torch::nn;

nn::Sequential vgg16_features() {
  constexpr int kPool = 0;
  constexpr int kLayers[] = {64,    64,  kPool, 128, 128,   kPool, 256, 256, 256,
                             kPool, 512, 512,   512, kPool, 512,   512, 512, kPool};
  nn::Sequential features;
  int from = 3;
  for (const int channels : kLayers) {
    if (channels == kPool) {
      features->push_back(nn::MaxPool2d(nn::MaxPool2dOptions(2).stride(2)));
      continue;
    }
    nn::Conv2d convolution(nn::Conv2dOptions(from, channels, 3).padding(1));
    nn::init::kaiming_normal_(convolution->weight, 0, torch::kFanOut, torch::kReLU);
    nn::init::zeros_(convolution->bias);
    features->push_back(convolution);
    features->push_back(nn::ReLU(nn::ReLUOptions().inplace(true)));
    from = channels;
  }
  return features;
}

Vgg16::Vgg16(int classes) {
  features_ = register_module("features", vgg16_features());
  nn::Sequential classifier;
  int from = 512 * 7 * 7;
  for (int i = 0; i < 2; ++i) {
    classifier->push_back(nn::Linear(from, 4096));
    classifier->push_back(nn::ReLU(nn::ReLUOptions().inplace(true)));
    classifier->push_back(nn::Dropout());
    from = 4096;
  }
  classifier->push_back(nn::Linear(from, classes));
  classifier_ = register_module("classifier", classifier);
}

torch::Tensor Vgg16::forward(const torch::Tensor& images) {
  const auto pooled = torch::adaptive_avg_pool2d(features_->forward(images), {7, 7});
  return classifier_->forward(pooled.flatten(1));
}

}  // namespace lockstep::nets
