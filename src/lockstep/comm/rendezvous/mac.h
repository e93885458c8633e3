#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace lockstep::comm {

/// A message authentication code: HMAC-SHA-256 (RFC 2104), computed by OpenSSL.
using Mac = std::array<std::byte, 32>;

/// Only a process that has the key can compute it. Throws kInternal when OpenSSL fails.
Mac compute_mac(std::span<const std::byte> key, std::span<const std::byte> message);

/// Compares in a time that does not depend on where the two differ.
bool equal_in_constant_time(const Mac& a, const Mac& b);

}  // namespace lockstep::comm
