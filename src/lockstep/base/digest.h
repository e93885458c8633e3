#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lockstep {

/// A 64-bit fingerprint of bytes, the same on every machine of one byte order: equal bytes give
/// equal digests, and any accidental difference another one. Not for keeping secrets. About 10
/// GB/s.
std::uint64_t digest(std::span<const std::byte> bytes);

/// Sixteen hexadecimal digits.
std::string format_digest(std::uint64_t value);

}  // namespace lockstep
