#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

/// A keyed stream of random numbers: the same key gives the same stream on every machine, for any
/// number of workers or threads. SplitMix64 over a mixed key; cheap to construct.
class Rng {
 public:
  /// Distinct keys give unrelated streams, for example (seed, epoch, example index).
  explicit Rng(std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0);

  std::uint64_t next();
  /// Uniform in [0, 1) with 53 bits.
  double uniform();
  /// Uniform in [0, bound), unbiased; bound > 0.
  std::uint64_t below(std::uint64_t bound);
  /// Standard normal (Box-Muller, one value per call).
  double normal();

 private:
  std::uint64_t state_;
};

/// A permutation of 0..size-1, uniform over all of them and fixed by the generator's key.
std::vector<std::uint32_t> random_permutation(std::uint32_t size, Rng rng);

}  // namespace lockstep
