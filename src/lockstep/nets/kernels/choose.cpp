#include "lockstep/nets/kernels/batch_norm.h"
#include "lockstep/nets/kernels/conv3x3.h"

namespace lockstep::nets::kernels {

namespace lanes8 {
extern const ConvPass kForward, kInputGrad, kWeightGrad;
extern const NormKernels kNormKernels;
}  // namespace lanes8

namespace lanes16 {
extern const ConvPass kForward, kInputGrad, kWeightGrad;
extern const NormKernels kNormKernels;
}  // namespace lanes16

const ConvKernels& conv_kernels([[maybe_unused]] int lanes) {
#if defined(__x86_64__)
  static const ConvKernels wide{lanes16::kForward, lanes16::kInputGrad, lanes16::kWeightGrad};
  if (lanes == 16) return wide;
#endif
  static const ConvKernels narrow{lanes8::kForward, lanes8::kInputGrad, lanes8::kWeightGrad};
  return narrow;
}

const NormKernels& norm_kernels([[maybe_unused]] const NormShape& shape,
                                [[maybe_unused]] int lanes) {
#if defined(__x86_64__)
  if (lanes == 16 && shape.channels % 16 == 0) return lanes16::kNormKernels;
#endif
  return lanes8::kNormKernels;
}

}  // namespace lockstep::nets::kernels
