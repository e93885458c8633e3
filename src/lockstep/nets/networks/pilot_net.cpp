#include "lockstep/nets/networks/pilot_net.h"

namespace lockstep::nets {

namespace nn = torch::nn;

PilotNet::PilotNet() {
  struct Layer {
    int channels, kernel, stride;
  };
  nn::Sequential convolutions;
  int from = 3;
  for (const Layer& layer : {Layer{24, 5, 2}, {36, 5, 2}, {48, 5, 2}, {64, 3, 1}, {64, 3, 1}}) {
    convolutions->push_back(
        nn::Conv2d(nn::Conv2dOptions(from, layer.channels, layer.kernel).stride(layer.stride)));
    convolutions->push_back(nn::ELU(nn::ELUOptions().inplace(true)));
    from = layer.channels;
  }
  convolutions_ = register_module("convolutions", convolutions);

  nn::Sequential dense;
  from = 64 * 1 * 18;
  for (const int units : {100, 50, 10}) {
    dense->push_back(nn::Linear(from, units));
    dense->push_back(nn::ELU(nn::ELUOptions().inplace(true)));
    from = units;
  }
  dense->push_back(nn::Linear(from, 1));
  dense_ = register_module("dense", dense);
}

torch::Tensor PilotNet::forward(const torch::Tensor& images) {
  return dense_->forward(convolutions_->forward(images).flatten(1));
}

}  // namespace lockstep::nets
