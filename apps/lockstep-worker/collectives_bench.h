#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "lockstep/base/clock.h"
#include "lockstep/comm/communicator.h"

namespace lockstep::worker {

struct CollectivesOptions {
  std::uint64_t least_bytes = 4 << 10;
  std::uint64_t most_bytes = 64 << 20;
  double seconds_per_size = 0.3;
  int nodes = 1;     ///< number of hosts, printed with the figures
  std::string host;  ///< of rank 0, likewise
  int gpu = 0;       ///< of this rank, where the communicator sums on GPUs
};

/// Times all-reduces of sizes from least to most in steps of four, checking every sum. Values lie
/// where the communicator sums them: for NCCL on the GPU, so its links are measured. Collective:
/// every rank calls it. Rank 0 calls `print` with one line of JSON per size: bytes, seconds
/// (median over the rounds of the slowest rank's time), deviation_s, rounds, nodes, host, wrong
/// (elements of all ranks with a wrong sum).
void bench_collectives(const CollectivesOptions& options, comm::Communicator& comm,
                       const Clock& clock, const std::function<void(const std::string&)>& print);

}  // namespace lockstep::worker
