#pragma once

namespace lockstep::nets::avx2 {

/// Whether this CPU has the instructions (AVX2 and FMA) the kernels of this folder are compiled
/// for.
bool cpu_supported();

}  // namespace lockstep::nets::avx2
