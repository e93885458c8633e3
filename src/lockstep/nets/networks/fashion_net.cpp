#include "lockstep/nets/networks/fashion_net.h"

#include "lockstep/nets/layers/relu_max_pool.h"

namespace lockstep::nets {

namespace nn = torch::nn;

FashionNet::FashionNet() {
  conv1_ = register_module("conv1", nn::Conv2d(nn::Conv2dOptions(1, 8, 3).padding(1)));
  conv2_ = register_module("conv2", nn::Conv2d(nn::Conv2dOptions(8, 24, 3).padding(1)));
  hidden_ = register_module("hidden", nn::Linear(24 * 7 * 7, 128));
  scores_ = register_module("scores", nn::Linear(128, 10));
}

torch::Tensor FashionNet::forward(const torch::Tensor& images) {
  // Channels last throughout: convolution and pooling are vectors over channels, and nothing has to
  // be reordered. One channel is the same bytes either way, so only the strides of the input
  // change.
  auto x = images.as_strided(images.sizes(), {28 * 28, 1, 28, 1});
  x = relu_max_pool(conv1_(x));
  x = relu_max_pool(conv2_(x));
  x = x.permute({0, 2, 3, 1}).flatten(1);
  return scores_(torch::relu(hidden_(x)));
}

}  // namespace lockstep::nets
