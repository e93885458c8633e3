#include "lockstep/nets/networks/mobilenet_v2.h"

#include "lockstep/nets/layers/batch_norm.h"

namespace lockstep::nets {

namespace nn = torch::nn;

namespace {

/// A sequence that may be part of another one.
class ChainImpl : public nn::SequentialImpl {
 public:
  using SequentialImpl::SequentialImpl;
  torch::Tensor forward(torch::Tensor x) { return run_layers(*this, std::move(x)); }
};
TORCH_MODULE(Chain);

nn::Conv2d convolution(int from, int to, int kernel, int stride, int groups) {
  nn::Conv2d made(nn::Conv2dOptions(from, to, kernel)
                      .stride(stride)
                      .padding(kernel / 2)
                      .groups(groups)
                      .bias(false));
  nn::init::kaiming_normal_(made->weight, 0, torch::kFanOut);
  return made;
}

/// Convolution, batch norm, relu6.
Chain conv_norm_relu(int from, int to, int kernel, int stride = 1, int groups = 1) {
  return Chain(convolution(from, to, kernel, stride, groups), nn::BatchNorm2d(to),
               nn::ReLU6(nn::ReLU6Options().inplace(true)));
}

/// A 1x1 convolution to `expansion` times the channels, a 3x3 one on each channel alone, and a 1x1
/// one back without relu; plus the input where the shape stays.
class InvertedResidualImpl : public nn::Module {
 public:
  InvertedResidualImpl(int from, int to, int stride, int expansion)
      : adds_input_(stride == 1 && from == to) {
    const int hidden = from * expansion;
    nn::Sequential conv;
    if (expansion != 1) conv->push_back(conv_norm_relu(from, hidden, 1));
    conv->push_back(conv_norm_relu(hidden, hidden, 3, stride, hidden));
    conv->push_back(convolution(hidden, to, 1, 1, 1));
    conv->push_back(nn::BatchNorm2d(to));
    conv_ = register_module("conv", conv);
  }

  torch::Tensor forward(const torch::Tensor& x) {
    const auto y = run_layers(*conv_, x);
    return adds_input_ ? x + y : y;
  }

 private:
  bool adds_input_;
  nn::Sequential conv_{nullptr};
};
TORCH_MODULE(InvertedResidual);

}  // namespace

nn::Sequential mobilenet_v2_features() {
  struct Stage {
    int expansion, channels, repeats, stride;
  };
  nn::Sequential features;
  features->push_back(conv_norm_relu(3, 32, 3, 2));
  int from = 32;
  for (const Stage& stage : {Stage{1, 16, 1, 1},
                             {6, 24, 2, 2},
                             {6, 32, 3, 2},
                             {6, 64, 4, 2},
                             {6, 96, 3, 1},
                             {6, 160, 3, 2},
                             {6, 320, 1, 1}}) {
    for (int i = 0; i < stage.repeats; ++i) {
      features->push_back(
          InvertedResidual(from, stage.channels, i == 0 ? stage.stride : 1, stage.expansion));
      from = stage.channels;
    }
  }
  features->push_back(conv_norm_relu(from, kMobileNetV2Features, 1));
  return features;
}

MobileNetV2::MobileNetV2(int classes) {
  features_ = register_module("features", mobilenet_v2_features());
  nn::Linear scores(kMobileNetV2Features, classes);
  nn::init::normal_(scores->weight, 0, 0.01);
  nn::init::zeros_(scores->bias);
  classifier_ = register_module("classifier", nn::Sequential(nn::Dropout(0.2), scores));
}

torch::Tensor MobileNetV2::forward(const torch::Tensor& images) {
  return classifier_->forward(features_->forward(images).mean({2, 3}));
}

}  // namespace lockstep::nets
