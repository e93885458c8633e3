#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lockstep/comm/wire/half_floats.h"

namespace lockstep::comm {

/// Floats as they travel in 16 bits: their scale, then each of them.
constexpr std::size_t rounded_message_bytes(std::size_t floats) {
  return sizeof(float) + floats * sizeof(std::uint16_t);
}

/// `message` has rounded_message_bytes() and begins at an even address.
void pack_rounded(Wire wire, std::span<const float> values, std::byte* message);
/// Replaces the values, or adds to them.
void unpack_rounded(Wire wire, const std::byte* message, bool add, std::span<float> values);

}  // namespace lockstep::comm
