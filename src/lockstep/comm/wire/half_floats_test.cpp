#include "lockstep/comm/wire/half_floats.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "lockstep/base/rng.h"

namespace lockstep::comm {
namespace {

float through(Wire wire, float value, float scale = 1) {
  std::uint16_t encoded = 0;
  encode(wire, &value, 1, scale, &encoded);
  float back = 0;
  decode(wire, &encoded, 1, scale, false, &back);
  return back;
}

TEST(HalfFloats, EveryHalfComesBackAsItWas) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    float value = 0;
    decode(Wire::kHalf, &half, 1, 1, false, &value);
    if (std::isnan(value) || half == 0x8000) continue;  // decode() adds, so -0 becomes 0
    std::uint16_t back = 0;
    encode(Wire::kHalf, &value, 1, 1, &back);
    ASSERT_EQ(back, half);
  }
}

TEST(HalfFloats, RoundsToTheNearestWithTiesToEven) {
  EXPECT_EQ(through(Wire::kHalf, 1 + 0x1p-11F), 1);                // a tie: down to even
  EXPECT_EQ(through(Wire::kHalf, 1 + 3 * 0x1p-11F), 1 + 0x1p-9F);  // a tie: up to even
  EXPECT_EQ(through(Wire::kHalf, 1 + 0x1.1p-11F), 1 + 0x1p-10F);
  EXPECT_EQ(through(Wire::kHalf, 0x1p-25F), 0);  // half the smallest
  EXPECT_EQ(through(Wire::kHalf, 0x1.8p-25F), 0x1p-24F);
  EXPECT_EQ(through(Wire::kBrain, 1 + 0x1p-8F), 1);
  EXPECT_EQ(through(Wire::kBrain, 1 + 3 * 0x1p-8F), 1 + 0x1p-6F);
}

TEST(HalfFloats, WhatIsNotFiniteStaysSo) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (Wire wire : {Wire::kHalf, Wire::kBrain}) {
    EXPECT_EQ(through(wire, infinity), infinity);
    EXPECT_EQ(through(wire, -infinity), -infinity);
    EXPECT_TRUE(std::isnan(through(wire, std::nanf(""))));
    EXPECT_TRUE(std::isnan(through(wire, -std::bit_cast<float>(0x7fffffffU))));
  }
  EXPECT_EQ(through(Wire::kHalf, 1e6F), infinity);
}

TEST(HalfFloats, StayWithinTheStatedErrorForAnySize) {
  Rng rng(2);
  for (const double size : {1e-30, 1e-12, 1e-6, 1.0, 1e5, 1e20}) {
    std::vector<float> values(1003);
    float largest = 0;
    for (float& value : values) {
      value = static_cast<float>(size * rng.normal() * std::pow(10.0, -6 * rng.uniform()));
      largest = std::max(largest, std::abs(value));
    }
    for (Wire wire : {Wire::kHalf, Wire::kBrain}) {
      const float scale = wire_scale(wire, values.data(), values.size());
      std::vector<std::uint16_t> encoded(values.size());
      encode(wire, values.data(), values.size(), scale, encoded.data());
      std::vector<float> back(values.size(), 7.0F);
      decode(wire, encoded.data(), values.size(), scale, false, back.data());
      const double relative = wire == Wire::kHalf ? 0x1p-11 : 0x1p-8;
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_LE(std::abs(back[i] - values[i]), relative * std::abs(values[i]) + 0x1p-39 * largest)
            << values[i];
      }
    }
  }
}

TEST(HalfFloats, DecodeAddsWhenAskedTo) {
  const std::uint16_t one = 0x3c00;
  float value = 5;
  decode(Wire::kHalf, &one, 1, 2, true, &value);
  EXPECT_EQ(value, 5.5F);
}

}  // namespace
}  // namespace lockstep::comm
