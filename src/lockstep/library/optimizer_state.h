#pragma once

#include <torch/torch.h>

#include <sstream>
#include <string>
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

/// LibTorch loads the state of an optimizer but not its options, so that a learning rate would be
/// the one of the constructor again.
inline void load_with_options(torch::optim::Optimizer& optimizer,
                              torch::serialize::InputArchive& archive) {
  optimizer.load(archive);
  torch::serialize::InputArchive groups;
  if (!archive.try_read("param_groups", groups)) return;  // an optimizer with a form of its own
  for (std::size_t i = 0; i < optimizer.param_groups().size(); ++i) {
    torch::serialize::InputArchive group, options;
    groups.read("param_groups/" + std::to_string(i), group);
    group.read("options", options);
    optimizer.param_groups()[i].options().serialize(options);
  }
}

}  // namespace lockstep::library
