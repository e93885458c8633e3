#include "lockstep/predict/phases/contention.h"

#include <algorithm>
#include <cmath>

namespace lockstep::predict {
namespace {

/// Work of N workers at the rate of one alone, over what they get done together; 0 = not known.
double slowdown(int workers, double alone, double together) {
  return alone > 0 && together > 0 ? std::max(workers * alone / together, 1.0) : 0;
}

}  // namespace

Estimate contention(const SharedHost& host) {
  if (host.workers < 2) return {1, 1, 1};
  if (host.threads_each < host.threads_alone) {
    const double fewer = static_cast<double>(host.threads_alone) / std::max(host.threads_each, 1);
    return {std::sqrt(fewer), 1 / fewer, fewer};
  }
  const double arithmetic = slowdown(host.workers, host.alone.flops, host.together.flops);
  const double memory = slowdown(host.workers, host.alone.bytes_per_s, host.together.bytes_per_s);
  Estimate factor{1, 1, 1};
  if (arithmetic > 0 && memory > 0) {
    factor = {arithmetic + host.memory_bound * (memory - arithmetic), std::min(arithmetic, memory),
              std::max(arithmetic, memory)};
  } else if (arithmetic > 0) {
    factor = {arithmetic, arithmetic, arithmetic};
  }
  if (host.cores > 0) {
    // Threads that compute need a core each, unless it is known that they need less.
    const double used = host.cores_used > 0 ? host.cores_used : host.threads_each;
    const double least = host.workers * used / host.cores;
    for (double* value : {&factor.value, &factor.low, &factor.high}) {
      *value = std::max(*value, least);
    }
  }
  return factor;
}

}  // namespace lockstep::predict
