#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace lockstep::train {

// Norms of many tensors in a few launches: a network has hundreds of tensors, and the launch of a
// kernel takes a GPU longer than the norm of most of them.

/// The norms, in one vector.
inline at::Tensor norms_of(const std::vector<at::Tensor>& tensors) {
  return at::stack(at::_foreach_norm(tensors, 2));
}

/// `above` / `below` element by element; 1 where either is zero.
inline at::Tensor ratio_or_one(const at::Tensor& above, const at::Tensor& below) {
  const auto ratio = above / below;
  return at::where((above > 0).logical_and(below > 0), ratio, at::ones_like(ratio));
}

/// Multiplies each tensor by its factor.
inline void scale_each(const std::vector<at::Tensor>& tensors, const at::Tensor& factors) {
  const auto each = factors.unbind();
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].mul_(each[i]);
}

}  // namespace lockstep::train
