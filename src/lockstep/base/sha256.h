#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace lockstep {

using Sha256 = std::array<std::byte, 32>;

/// SHA-256 (FIPS 180-4).
Sha256 sha256(std::span<const std::byte> bytes);
Sha256 sha256(std::string_view text);

/// HMAC-SHA-256 (RFC 2104): only who knows the key can make it.
Sha256 hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message);

/// In a time that does not depend on where they differ.
bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b);

/// Bytes from the kernel that nobody can guess. Throws kEnvironment when there are none.
void fill_random(std::span<std::byte> bytes);

}  // namespace lockstep
