#pragma once

#include <lockstep/lockstep.h>

#include <map>
#include <string>
#include <utility>

/// The settings of training_program, and the network and data that peer.py computes by the same
/// formulas.

using Settings = std::map<std::string, std::string>;

struct Options {
  Settings given;
  int number(const std::string& key, int otherwise) const {
    const auto found = given.find(key);
    return found == given.end() ? otherwise : std::stoi(found->second);
  }
  std::string text(const std::string& key, const std::string& otherwise) const {
    const auto found = given.find(key);
    return found == given.end() ? otherwise : found->second;
  }
};

inline torch::Tensor formula(torch::IntArrayRef shape, double frequency, double scale) {
  std::int64_t count = 1;
  for (const auto size : shape) count *= size;
  return (torch::arange(count, torch::kDouble) * frequency + 0.5)
      .sin()
      .mul(scale)
      .to(torch::kFloat)
      .reshape(shape);
}

struct Net : torch::nn::Module {
  explicit Net(const Options& options) : with_extra_(options.number("unused", 0) != 0) {
    one = register_module("one", torch::nn::Linear(8, 16));
    two = register_module("two", torch::nn::Linear(16, 16));
    three = register_module("three", torch::nn::Linear(16, 3));
    if (options.number("norm", 0)) norm = register_module("norm", torch::nn::BatchNorm1d(16));
    if (with_extra_) extra = register_module("extra", torch::nn::Linear(16, 3));
    if (options.number("frozen", 0)) {
      for (auto& parameter : two->parameters()) parameter.set_requires_grad(false);
    }
    torch::NoGradGuard no_grad;
    int index = 0;
    for (auto& parameter : parameters()) {
      if (!norm || parameter.dim() == 2)
        parameter.copy_(formula(parameter.sizes(), 0.7 + 0.1 * index, 0.4));
      ++index;
    }
  }

  torch::Tensor forward(const torch::Tensor& x, bool use_extra) {
    auto y = torch::tanh(one(x));
    y = two(y);
    if (norm) y = norm(y);
    y = torch::tanh(y);
    return with_extra_ && use_extra ? three(y) + extra(y) : three(y);
  }

  torch::nn::Linear one{nullptr}, two{nullptr}, three{nullptr}, extra{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  bool with_extra_;
};

/// Examples `first` to `first + count` of an endless set.
inline std::pair<torch::Tensor, torch::Tensor> examples(std::int64_t first, std::int64_t count) {
  const auto index = torch::arange(first, first + count, torch::kDouble).unsqueeze(1);
  const auto x =
      ((index * 1.7 + torch::arange(8, torch::kDouble) * 0.9 + 0.3).sin() * 1.5).to(torch::kFloat);
  const auto y = ((index.squeeze(1) * 0.61).sin() * 2.999 + 3).floor().fmod(3).to(torch::kLong);
  return {x, y};
}

inline double distance_between_ranks(lockstep::Job& job, torch::nn::Module& net) {
  double largest = 0;
  for (const auto& parameter : net.parameters()) {
    const auto all = job.gather(parameter);
    largest = std::max(largest, (all - all[0]).abs().max().item<double>());
  }
  for (const auto& buffer : net.buffers()) {
    const auto all = job.gather(buffer).to(torch::kDouble);
    largest = std::max(largest, (all - all[0]).abs().max().item<double>());
  }
  return largest;
}
