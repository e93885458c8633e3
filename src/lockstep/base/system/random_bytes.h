#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lockstep {

/// Fills `bytes` from the kernel's generator, which is fit for secrets. Throws kEnvironment when
/// the kernel has none.
void fill_random(std::span<std::byte> bytes);

/// That many random bytes as lower-case hexadecimal digits.
std::string random_hex(std::size_t bytes);

}  // namespace lockstep
