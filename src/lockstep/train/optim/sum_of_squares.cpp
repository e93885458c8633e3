#include "lockstep/train/optim/sum_of_squares.h"

#include <algorithm>

#include "lockstep/base/simd.h"

namespace lockstep::train {
namespace {

constexpr std::size_t kLanes = 16;
constexpr std::size_t kSummedAtOnce = 1024;

LOCKSTEP_SIMD_CLONES
float block_sum(const float* values, std::size_t count) {
  float lanes[kLanes] = {};
  const std::size_t whole = count / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += values[i + lane] * values[i + lane];
    }
  }
  for (std::size_t i = whole; i < count; ++i) lanes[i - whole] += values[i] * values[i];
  float sum = 0;
  for (float lane : lanes) sum += lane;
  return sum;
}

}  // namespace

double sum_of_squares(const float* values, std::size_t count) {
  double sum = 0;
  for (std::size_t at = 0; at < count; at += kSummedAtOnce) {
    sum += static_cast<double>(block_sum(values + at, std::min(kSummedAtOnce, count - at)));
  }
  return sum;
}

}  // namespace lockstep::train
