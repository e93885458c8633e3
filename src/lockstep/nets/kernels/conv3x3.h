#pragma once

#include <cstddef>
#include <cstdint>

/// 3x3 convolution of stride 1 or 2 and padding 1 by Winograd's minimal filtering, in float. Images
/// are channels last (images x height x width x channels); weights are out x in x 3 x 3, as
/// LibTorch keeps them. Nothing here uses LibTorch or allocates memory. Only for CPUs that
/// cpu_supported() (cpu.h).
namespace lockstep::nets::kernels {

struct Conv3x3 {
  std::int64_t images = 0, height = 0, width = 0;  ///< Of the input.
  std::int64_t in = 0, out = 0;                    ///< Channels; both multiples of kChannelBlock.
  int stride = 1;                                  ///< 1 or 2.

  std::int64_t out_height() const { return (height + stride - 1) / stride; }
  std::int64_t out_width() const { return (width + stride - 1) / stride; }
};

inline constexpr std::int64_t kChannelBlock = 16;

/// What a call works with besides its arguments.
struct Workspace {
  float* floats =
      nullptr;      ///< At least as many as *_workspace() of the call returns; 64-byte aligned.
  int threads = 1;  ///< The results do not depend on it, to the last bit.
};

/// Floats of workspace for one call of forward(), input_grad() and weight_grad() each.
std::size_t forward_workspace(const Conv3x3& conv);
std::size_t input_grad_workspace(const Conv3x3& conv);
std::size_t weight_grad_workspace(const Conv3x3& conv);

/// output = conv(input, weights). Writes every element of `output`.
void forward(const Conv3x3& conv, const float* input, const float* weights, float* output,
             const Workspace& workspace);

/// Gradient by the input, given that by the output. Writes every element of `grad_input`.
void input_grad(const Conv3x3& conv, const float* grad_output, const float* weights,
                float* grad_input, const Workspace& workspace);

/// Gradient by the weights, given that by the output. Writes every element of `grad_weights`.
void weight_grad(const Conv3x3& conv, const float* input, const float* grad_output,
                 float* grad_weights, const Workspace& workspace);

}  // namespace lockstep::nets::kernels
