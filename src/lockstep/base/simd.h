#pragma once

/// Put before a function definition with a plain hot loop: the compiler then makes one version for
/// each instruction set and the loader picks the best at start-up, so that one binary is fast
/// everywhere. The source file needs -O3 (GCC 12 hardly vectorises at -O2). Off under sanitizers,
/// whose run-time is not yet set up when the loader resolves such functions.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LOCKSTEP_SIMD_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define LOCKSTEP_SIMD_CLONES
#endif
