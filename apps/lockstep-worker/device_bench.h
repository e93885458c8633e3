#pragma once

#include <string>

#include "lockstep/base/clock.h"

namespace lockstep::worker {

/// Measures what this process can do with the threads LibTorch has: the best rate of a large matrix
/// product and of memory. One line of JSON: device, threads, flops (FP32 operations/s), bytes_per_s
/// (read and written together), gemm. Takes some seconds.
std::string bench_device(const Clock& clock, double seconds);

}  // namespace lockstep::worker
