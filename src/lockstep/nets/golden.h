#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace lockstep::nets {

// What tests share with tests/golden/make_*_golden.py: the same numbers, made on both sides.

/// `count` floats in [-1, 1): the SplitMix64 hash of (stream, index), 24 bits of it.
inline torch::Tensor uniform(std::uint64_t stream, std::int64_t count) {
  auto values = torch::empty({count});
  float* out = values.data_ptr<float>();
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t x = (static_cast<std::uint64_t>(i) + (stream << 32)) * 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    x ^= x >> 31;
    out[i] = static_cast<float>(static_cast<double>(x >> 40) / (1 << 23) - 1);
  }
  return values;
}

/// Weights of variance 2 / fan-in, norms around 1, biases around 0.
inline void fill_with_hashes(torch::nn::Module& network) {
  const torch::NoGradGuard no_grad;
  std::uint64_t stream = 0;
  for (auto& item : network.named_parameters()) {
    auto& parameter = item.value();
    auto values = uniform(++stream, parameter.numel());
    if (parameter.dim() > 1) {
      const auto fan_in = static_cast<double>(parameter.numel() / parameter.size(0));
      values.mul_(static_cast<float>(std::sqrt(6.0 / fan_in)));
    } else {
      values.mul_(0.25F).add_(item.key().ends_with("weight") ? 1.0F : 0.0F);
    }
    parameter.copy_(values.view(parameter.sizes()));
  }
}

/// The figures in tests/golden/NAME.txt by their names.
inline std::map<std::string, double> read_golden(const std::string& name) {
  const std::string path = LOCKSTEP_GOLDEN "/" + name + ".txt";
  std::ifstream file(path);
  EXPECT_TRUE(file) << path << " cannot be read";
  std::map<std::string, double> values;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string key;
    words >> key >> values[key];
  }
  return values;
}

}  // namespace lockstep::nets
