#pragma once

#include <torch/types.h>

#include <span>

namespace lockstep::nets {

/// The elements of a contiguous tensor of floats on the CPU.
inline std::span<float> floats(const torch::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

/// The same of doubles.
inline std::span<double> doubles(const torch::Tensor& tensor) {
  return {tensor.data_ptr<double>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace lockstep::nets
