#include "lockstep/nets/layers/relu_max_pool_kernels.h"

#include "lockstep/base/simd.h"

namespace lockstep::nets {
namespace {

// Eight channels at a time, in the compiler's own vector types: written as a scalar loop, the bytes
// of `choice` make the compiler vectorise only from 32 channels on.
using Floats = float __attribute__((vector_size(32), aligned(4), may_alias));
using Ints = std::int32_t __attribute__((vector_size(32)));
using Choices = std::uint8_t __attribute__((vector_size(8), aligned(1), may_alias));

template <class Vector, class Element>
Vector& at(Element* pointer) {
  return *reinterpret_cast<Vector*>(pointer);
}

}  // namespace

LOCKSTEP_SIMD_CLONES
void relu_max_pool_forward(const float* input, std::int64_t images, std::int64_t height,
                           std::int64_t width, std::int64_t channels, float* output,
                           std::uint8_t* choice) {
  const std::int64_t line = width * channels;
  for (std::int64_t row = 0; row < images * height / 2; ++row) {
    for (std::int64_t x = 0; x < width / 2; ++x) {
      const float* a = input + row * 2 * line + x * 2 * channels;
      const float* b = a + channels;
      const float* c = a + line;
      const float* d = c + channels;
      float* out = output;
      std::uint8_t* from = choice;
      // Strictly greater, in window order: the first of equal elements wins, and none wins over 0.
      for (std::int64_t k = 0; k < channels; k += kPoolBlock) {
        const Floats va = at<const Floats>(a + k), vb = at<const Floats>(b + k);
        const Floats vc = at<const Floats>(c + k), vd = at<const Floats>(d + k);
        Floats best = va > 0 ? va : Floats{};
        Ints index = va > 0 ? Ints{} : Ints{} + 4;
        index = vb > best ? Ints{} + 1 : index;
        best = vb > best ? vb : best;
        index = vc > best ? Ints{} + 2 : index;
        best = vc > best ? vc : best;
        index = vd > best ? Ints{} + 3 : index;
        best = vd > best ? vd : best;
        at<Floats>(out + k) = best;
        at<Choices>(from + k) = __builtin_convertvector(index, Choices);
      }
      output += channels;
      choice += channels;
    }
  }
}

LOCKSTEP_SIMD_CLONES
void relu_max_pool_backward(const float* grad_output, const std::uint8_t* choice,
                            std::int64_t images, std::int64_t height, std::int64_t width,
                            std::int64_t channels, float* grad_input) {
  const std::int64_t line = width * channels;
  for (std::int64_t row = 0; row < images * height / 2; ++row) {
    for (std::int64_t x = 0; x < width / 2; ++x) {
      float* a = grad_input + row * 2 * line + x * 2 * channels;
      float* b = a + channels;
      float* c = a + line;
      float* d = c + channels;
      const float* grad = grad_output;
      const std::uint8_t* from = choice;
      for (std::int64_t k = 0; k < channels; k += kPoolBlock) {
        const Ints index = __builtin_convertvector(at<const Choices>(from + k), Ints);
        const Floats g = at<const Floats>(grad + k);
        at<Floats>(a + k) = index == 0 ? g : Floats{};
        at<Floats>(b + k) = index == 1 ? g : Floats{};
        at<Floats>(c + k) = index == 2 ? g : Floats{};
        at<Floats>(d + k) = index == 3 ? g : Floats{};
      }
      grad_output += channels;
      choice += channels;
    }
  }
}

}  // namespace lockstep::nets
