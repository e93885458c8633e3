#pragma once

#include <cstdint>
#include <string>

#include "lockstep/data/dataset.h"

namespace lockstep::data {

struct SyntheticOptions {
  std::string name = "synthetic";
  ImageShape shape{3, 32, 32};
  int classes = 10;  ///< 0 for a regression with one target in [-1, 1]
  std::int64_t train_examples = 50'000;
  std::int64_t validation_examples = 10'000;
  std::uint64_t seed = 1;
};

/// Made-up images a network can learn: each class has a smooth prototype; an example is its class's
/// prototype, moved by a few pixels, with noise. The labels go round-robin. The same options give
/// the same bytes everywhere; training and validation examples differ. Marked synthetic.
DataSplit make_synthetic(const SyntheticOptions& options);

}  // namespace lockstep::data
