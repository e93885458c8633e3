#pragma once

#include <cstddef>
#include <cstdint>

#include "lockstep/nets/kernels/cpu.h"

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
  float* floats = nullptr;  ///< At least as many as the pass needs; 64-byte aligned.
  int threads = 1;          ///< The results do not depend on it, to the last bit.
};

/// One pass over a layer, of two operands. Writes every element of the result.
struct ConvPass {
  std::size_t (*workspace)(const Conv3x3& conv, int threads);  ///< Floats for one run().
  void (*run)(const Conv3x3& conv, const float* first, const float* second, float* result,
              const Workspace& workspace);
};

struct ConvKernels {
  ConvPass forward;      ///< input, weights -> output
  ConvPass input_grad;   ///< gradient by the output, weights -> gradient by the input
  ConvPass weight_grad;  ///< input, gradient by the output -> gradient by the weights
};

/// Those for vectors of `lanes` floats, 8 or 16. The results are the same, to the last bit.
const ConvKernels& conv_kernels(int lanes = cpu_lanes());

}  // namespace lockstep::nets::kernels
