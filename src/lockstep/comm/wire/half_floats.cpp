#include "lockstep/comm/wire/half_floats.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "lockstep/base/simd.h"

namespace lockstep::comm {
namespace {

constexpr std::uint32_t kInfinity = 0x7f800000;

// Plain integer arithmetic without branches, which compilers turn into vector code for any
// instruction set; the conversion instructions of F16C would tie the program to CPUs that have
// them.

std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000, size = bits & 0x7fffffff;
  // Exponents shift by 127 - 15; half a unit less a tie that is even is added before the cut.
  const std::uint32_t normal = (size + 0xfff + ((size >> 13) & 1) - (112U << 23)) >> 13;
  // Added to 0.5, what is below 2^-14 comes to lie where a subnormal half has its bits, rounded.
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) - 0x3f000000;
  const std::uint32_t finite = size < 0x38800000 ? small : normal;
  const std::uint32_t clipped = finite > 0x7c00 ? 0x7c00 : finite;
  const std::uint32_t special = size > kInfinity ? 0x7e00 : 0x7c00;
  return static_cast<std::uint16_t>(sign | (size >= kInfinity ? special : clipped));
}

float from_half(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t shifted = (half & 0x7fffU) << 13;
  // Multiplied by 2^112: exact, and subnormals become normal on the way.
  const auto finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(shifted) *
                                                   std::bit_cast<float>(239U << 23));
  const std::uint32_t size = (half & 0x7c00U) == 0x7c00U ? (shifted | kInfinity) : finite;
  return std::bit_cast<float>(sign | size);
}

std::uint16_t to_brain(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const bool nan = (bits & 0x7fffffff) > kInfinity;
  return static_cast<std::uint16_t>(nan ? 0x7fc0 : rounded);
}

float from_brain(std::uint16_t brain) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(brain) << 16);
}

LOCKSTEP_SIMD_CLONES
void encode_half(const float* __restrict values, std::size_t count, float scale,
                 std::uint16_t* __restrict encoded) {
  for (std::size_t i = 0; i < count; ++i) encoded[i] = to_half(values[i] * scale);
}

LOCKSTEP_SIMD_CLONES
void encode_brain(const float* __restrict values, std::size_t count,
                  std::uint16_t* __restrict encoded) {
  for (std::size_t i = 0; i < count; ++i) encoded[i] = to_brain(values[i]);
}

LOCKSTEP_SIMD_CLONES
void decode_half(const std::uint16_t* __restrict encoded, std::size_t count, float factor,
                 float* __restrict values) {
  for (std::size_t i = 0; i < count; ++i) values[i] += from_half(encoded[i]) * factor;
}

LOCKSTEP_SIMD_CLONES
void decode_brain(const std::uint16_t* __restrict encoded, std::size_t count,
                  float* __restrict values) {
  for (std::size_t i = 0; i < count; ++i) values[i] += from_brain(encoded[i]);
}

/// The largest finite size, as the bits of a float: those of finite floats sort as they do.
LOCKSTEP_SIMD_CLONES
std::uint32_t largest_size(const float* values, std::size_t count) {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t size = std::bit_cast<std::uint32_t>(values[i]) & 0x7fffffff;
    const std::uint32_t finite = size < kInfinity ? size : 0;
    largest = largest > finite ? largest : finite;
  }
  return largest;
}

}  // namespace

float wire_scale(Wire wire, const float* values, std::size_t count) {
  if (wire != Wire::kHalf) return 1;
  const auto largest = std::bit_cast<float>(largest_size(values, count));
  if (largest < 1e-30F) return 1;
  return std::ldexp(1.0F, 15 - (std::ilogb(largest) + 1));
}

void encode(Wire wire, const float* values, std::size_t count, float scale,
            std::uint16_t* encoded) {
  if (wire == Wire::kHalf) return encode_half(values, count, scale, encoded);
  encode_brain(values, count, encoded);
}

void decode(Wire wire, const std::uint16_t* encoded, std::size_t count, float scale, bool add,
            float* values) {
  if (!add) std::fill_n(values, count, 0.0F);
  if (wire == Wire::kHalf) return decode_half(encoded, count, 1 / scale, values);
  decode_brain(encoded, count, values);
}

}  // namespace lockstep::comm
