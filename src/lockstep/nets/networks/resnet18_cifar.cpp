#include "lockstep/nets/networks/resnet18_cifar.h"

#include <fmt/format.h>

#include "lockstep/nets/layers/batch_norm.h"
#include "lockstep/nets/layers/winograd_conv.h"

namespace lockstep::nets {

namespace nn = torch::nn;

namespace {

nn::Conv2d make_conv3x3(int from, int to, int stride) {
  return nn::Conv2d(nn::Conv2dOptions(from, to, 3).stride(stride).padding(1).bias(false));
}

}  // namespace

/// conv - norm - relu - conv - norm, plus the input (through a 1x1 convolution where the shape
/// changes), relu.
struct ResNet18Cifar::Block : nn::Module {
  Block(int from, int to, int stride) {
    conv1 = register_module("conv1", make_conv3x3(from, to, stride));
    norm1 = register_module("bn1", nn::BatchNorm2d(to));
    conv2 = register_module("conv2", make_conv3x3(to, to, 1));
    norm2 = register_module("bn2", nn::BatchNorm2d(to));
    if (stride != 1 || from != to) {
      shortcut = register_module(
          "shortcut",
          nn::Sequential(nn::Conv2d(nn::Conv2dOptions(from, to, 1).stride(stride).bias(false)),
                         nn::BatchNorm2d(to)));
    }
  }

  torch::Tensor forward(const torch::Tensor& x) {
    const auto stride = static_cast<int>(conv1->options.stride()->at(0));
    auto y = batch_norm_relu(*norm1, conv3x3(x, conv1->weight, stride));
    y = conv3x3(y, conv2->weight);
    return batch_norm_relu(*norm2, y, shortcut.is_empty() ? x : shortcut_of(x));
  }

  torch::Tensor shortcut_of(const torch::Tensor& x) {
    return batch_norm(*shortcut[1]->as<nn::BatchNorm2d>(),
                      shortcut[0]->as<nn::Conv2d>()->forward(x));
  }

  nn::Conv2d conv1{nullptr}, conv2{nullptr};
  nn::BatchNorm2d norm1{nullptr}, norm2{nullptr};
  nn::Sequential shortcut{nullptr};
};

ResNet18Cifar::ResNet18Cifar(int classes) {
  stem_ = register_module("conv1", make_conv3x3(3, 64, 1));
  stem_norm_ = register_module("bn1", nn::BatchNorm2d(64));
  int from = 64;
  for (int stage = 0; stage < 4; ++stage) {
    const int to = 64 << stage;
    for (int i = 0; i < 2; ++i) {
      const int stride = stage > 0 && i == 0 ? 2 : 1;
      blocks_.push_back(register_module(fmt::format("layer{}_{}", stage + 1, i),
                                        std::make_shared<Block>(from, to, stride)));
      from = to;
    }
  }
  scores_ = register_module("linear", nn::Linear(512, classes));
}

torch::Tensor ResNet18Cifar::forward(const torch::Tensor& images) {
  auto x = images.contiguous(torch::MemoryFormat::ChannelsLast);
  x = batch_norm_relu(*stem_norm_, stem_(x));
  for (const auto& block : blocks_) x = block->forward(x);
  return scores_(x.mean({2, 3}));
}

}  // namespace lockstep::nets
