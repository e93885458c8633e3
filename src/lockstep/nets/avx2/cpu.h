#pragma once

namespace lockstep::nets::avx2 {

/// Whether this CPU has the instructions (AVX2 and FMA) the kernels of this folder are compiled
/// for.
bool cpu_supported();

/// Whether it has AVX-512 besides, which other libraries may use.
bool cpu_has_avx512();

}  // namespace lockstep::nets::avx2
