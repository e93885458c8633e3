// The task of the PyTorch project's C++ example of distributed training (cpp/distributed): its
// network and its data, shared by the program with the library and by its peer.
#pragma once

#include <torch/torch.h>

struct Model : torch::nn::Module {
  torch::nn::Conv2d conv1{register_module("conv1", torch::nn::Conv2d(1, 10, 5))};
  torch::nn::Conv2d conv2{register_module("conv2", torch::nn::Conv2d(10, 20, 5))};
  torch::nn::Dropout2d drop{register_module("drop", torch::nn::Dropout2d())};
  torch::nn::Linear fc1{register_module("fc1", torch::nn::Linear(320, 50))};
  torch::nn::Linear fc2{register_module("fc2", torch::nn::Linear(50, 10))};

  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(torch::max_pool2d(conv1(x), 2));
    x = torch::relu(torch::max_pool2d(drop(conv2(x)), 2)).view({-1, 320});
    x = torch::dropout(torch::relu(fc1(x)), 0.5, is_training());
    return torch::log_softmax(fc2(x), 1);
  }
};

using torch::data::datasets::MNIST;

inline auto mnist(const char* folder, MNIST::Mode mode) {
  return MNIST(folder, mode)
      .map(torch::data::transforms::Normalize<>(0.1307, 0.3081))
      .map(torch::data::transforms::Stack<>());
}
