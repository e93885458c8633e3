#pragma once

#include <cstddef>
#include <cstdint>

#include "lockstep/nets/kernels/cpu.h"

/// Batch normalisation over a matrix of rows (pixels of all images) x channels, in float. Only for
/// CPUs that cpu_supported() (cpu.h). No result depends on the number of threads, to the last bit.
namespace lockstep::nets::kernels {

struct NormShape {
  std::int64_t rows = 0;
  std::int64_t channels = 0;  ///< A multiple of kNormBlock.
};

inline constexpr std::int64_t kNormBlock = 8;

/// What happens after input * scale + shift, per channel: nothing, `+ residual` if that is given,
/// and then max(0, .) if `relu`.
struct NormOutput {
  const float* residual = nullptr;
  bool relu = false;
};

struct NormKernels {
  /// Doubles of workspace that the functions below need.
  std::size_t (*workspace)(const NormShape& shape);

  /// Mean and biased variance of each channel.
  void (*channel_moments)(const NormShape& shape, const float* input, float* mean, float* variance,
                          double* workspace, int threads);

  void (*scale_shift)(const NormShape& shape, const float* input, const float* scale,
                      const float* shift, const NormOutput& then, float* output, int threads);

  /// The first half of the gradient: with g = grad but 0 if output <= 0 (all of grad if `output`
  /// is null), sum_grad = sum of g and sum_product = sum of g (input - mean), per channel. Writes g
  /// to `masked` if that is given.
  void (*grad_sums)(const NormShape& shape, const float* grad, const float* output,
                    const float* input, const float* mean, float* masked, double* sum_grad,
                    double* sum_product, double* workspace, int threads);

  /// The second half: grad_input = g * by_grad + input * by_input + constant, per channel.
  void (*grad_input)(const NormShape& shape, const float* grad, const float* output,
                     const float* input, const float* by_grad, const float* by_input,
                     const float* constant, float* grad_input, int threads);
};

/// Those for `shape` in vectors of at most `lanes` floats, 8 or 16. The results are the same, to
/// the last bit.
const NormKernels& norm_kernels(const NormShape& shape, int lanes = cpu_lanes());

}  // namespace lockstep::nets::kernels
