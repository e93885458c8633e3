#pragma once

namespace lockstep::nets::kernels {

/// Whether this CPU has the instructions that the kernels of this folder need: AVX2 and FMA
/// on x86-64; on ARM64 what every CPU has.
bool cpu_supported();

/// Floats in the widest vectors that the kernels use on this CPU: 16 with AVX-512, else 8.
int cpu_lanes();

}  // namespace lockstep::nets::kernels
