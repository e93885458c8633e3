#include "lockstep/comm/backends/sum_across_ranks.h"

#include <algorithm>

#include "lockstep/base/simd.h"

namespace lockstep::comm {
namespace {

LOCKSTEP_SIMD_CLONES
void sum_two(float* __restrict a, float* __restrict b, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float sum = a[i] + b[i];
    a[i] = sum;
    b[i] = sum;
  }
}

LOCKSTEP_SIMD_CLONES
void sum_four(float* __restrict a, float* __restrict b, float* __restrict c, float* __restrict d,
              std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float sum = ((a[i] + b[i]) + c[i]) + d[i];
    a[i] = sum;
    b[i] = sum;
    c[i] = sum;
    d[i] = sum;
  }
}

/// `sum` may be any of the others.
LOCKSTEP_SIMD_CLONES
void sum_of_two(float* sum, const float* a, const float* b, std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) sum[i] = a[i] + b[i];
}

LOCKSTEP_SIMD_CLONES
void sum_of_four(float* sum, const float* a, const float* b, const float* c, const float* d,
                 std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) sum[i] = ((a[i] + b[i]) + c[i]) + d[i];
}

LOCKSTEP_SIMD_CLONES
void add(float* __restrict sum, const float* __restrict term, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sum[i] += term[i];
}

/// Blocks stay in the first-level cache, so that memory is read and written once however many ranks
/// there are.
constexpr std::size_t kBlock = 1024;

}  // namespace

void sum_into_root(std::span<float* const> copies, std::size_t root, std::size_t count) {
  if (copies.size() == 2) return sum_of_two(copies[root], copies[0], copies[1], count);
  if (copies.size() == 4) {
    return sum_of_four(copies[root], copies[0], copies[1], copies[2], copies[3], count);
  }
  float block[kBlock];
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t length = std::min(kBlock, count - at);
    std::copy_n(copies[0] + at, length, block);
    for (std::size_t r = 1; r < copies.size(); ++r) add(block, copies[r] + at, length);
    std::copy_n(block, length, copies[root] + at);
  }
}

void sum_across_ranks(std::span<float* const> copies, std::size_t count) {
  if (copies.size() == 2) return sum_two(copies[0], copies[1], count);
  if (copies.size() == 4) return sum_four(copies[0], copies[1], copies[2], copies[3], count);
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t length = std::min(kBlock, count - at);
    for (std::size_t r = 1; r < copies.size(); ++r) add(copies[0] + at, copies[r] + at, length);
    for (std::size_t r = 1; r < copies.size(); ++r) {
      std::copy_n(copies[0] + at, length, copies[r] + at);
    }
  }
}

}  // namespace lockstep::comm
