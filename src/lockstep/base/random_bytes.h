#pragma once

#include <cstddef>
#include <span>

namespace lockstep {

/// Fills `bytes` from the kernel's generator, which is fit for secrets. Throws kEnvironment when
/// the kernel has none.
void fill_random(std::span<std::byte> bytes);

}  // namespace lockstep
