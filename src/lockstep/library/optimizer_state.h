#pragma once

#include <torch/torch.h>

#include <sstream>
#include <type_traits>

namespace lockstep::library {

using OptimizerStates =
    std::remove_reference_t<decltype(std::declval<torch::optim::Optimizer&>().state())>;

/// Under which key an optimizer keeps the state of a parameter: text in LibTorch 1.13, a pointer
/// later.
template <class Key = OptimizerStates::key_type>
Key state_key(const torch::Tensor& parameter) {
  auto* const pointer = parameter.unsafeGetTensorImpl();
  if constexpr (std::is_pointer_v<Key>) {
    return pointer;
  } else {
    std::ostringstream text;
    text << pointer;
    return text.str();
  }
}

}  // namespace lockstep::library
