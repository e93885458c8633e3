#pragma once

#include <string>

#include "lockstep/comm/communicator.h"
#include "lockstep/record/train_request.h"

namespace CLI {
class App;
}

namespace lockstep::worker {

/// Which sums to time.
struct AllReduceBench {
  std::string sizes = "1kB,100kB,1MB,10MB,40MB";
  int repeat = 10;
};

/// Adds its options to `command`; those about the connection go into `request`.
void add_bench_options(CLI::App& command, record::TrainRequest& request, AllReduceBench& bench);

/// Every sum is checked. Rank 0 prints one line a size: the median time of the slowest rank, algbw
/// = S/t and busbw = algbw 2(N-1)/N, and the constants of t = alpha + 2(N-1)/N S/B that fit best.
/// Throws kInternal when a sum is wrong. Collective.
void run_all_reduce_bench(const AllReduceBench& bench, comm::Communicator& communicator, int nodes);

}  // namespace lockstep::worker
