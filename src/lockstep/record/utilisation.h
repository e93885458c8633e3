#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace lockstep::record {

/// How busy one rank was over one stretch of time.
struct Utilisation {
  std::int32_t rank = 0;
  std::int32_t epoch = 0;
  double at_s = 0;                  ///< end of the stretch, since the run's first step
  double seconds = 0;               ///< its length
  double cpu_cores = 0;             ///< processor time / time: 1.5 is one and a half cores
  std::int64_t resident_bytes = 0;  ///< at the end of the stretch
  double gpu = std::numeric_limits<double>::quiet_NaN();  ///< 0 .. 1; NaN without a GPU
  std::int64_t gpu_memory_bytes = 0;                      ///< used on that GPU by anyone
};

/// What all ranks measured of themselves in an epoch, thinned to a few samples per rank.
struct UtilisationBlock {
  std::vector<Utilisation> samples;  ///< by rank, then time
};

}  // namespace lockstep::record
