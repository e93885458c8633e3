#pragma once

namespace lockstep::nets::kernels {

/// Whether this CPU has the instructions the kernels of this folder are compiled for: AVX2 and FMA
/// on x86-64; on ARM64 what every CPU has.
bool cpu_supported();

/// Whether it has AVX-512 besides, which other libraries may use.
bool cpu_has_avx512();

}  // namespace lockstep::nets::kernels
