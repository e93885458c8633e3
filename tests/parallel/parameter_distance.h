#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/train/checkpoint/checkpoint.h"

namespace lockstep {

/// Relative distance of two sets of parameters, as one vector each.
inline double distance(const train::Checkpoint& a, const train::Checkpoint& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.model.size(); ++i) {
    EXPECT_EQ(a.model[i].name, b.model[i].name);
    const auto x = a.model[i].tensor.to(torch::kDouble), y = b.model[i].tensor.to(torch::kDouble);
    difference += (x - y).pow(2).sum().item<double>();
    size += x.pow(2).sum().item<double>();
  }
  return std::sqrt(difference / size);
}

}  // namespace lockstep
