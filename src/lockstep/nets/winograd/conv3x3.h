#pragma once

#include <cstddef>
#include <cstdint>

/// 3x3 convolution of stride 1 and padding 1 by Winograd's F(4x4, 3x3), in float on the CPU. Images
/// are channels last (images x height x width x channels); weights are out x in x 3 x 3, as
/// LibTorch keeps them. Nothing here knows of LibTorch or allocates memory.
namespace lockstep::nets::winograd {

struct Conv3x3 {
  std::int64_t images = 0, height = 0, width = 0;
  std::int64_t in = 0, out = 0;  ///< Channels; both multiples of kChannelBlock.
};

inline constexpr std::int64_t kChannelBlock = 16;

/// What a call works with besides its arguments.
struct Workspace {
  float* floats = nullptr;  ///< At least as many as the call's *_workspace() says; 64-byte aligned.
  int threads = 1;          ///< The results do not depend on it, to the last bit.
};

/// Whether this CPU has the instructions (AVX2 and FMA) the functions below are compiled for.
bool cpu_supported();

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

}  // namespace lockstep::nets::winograd
