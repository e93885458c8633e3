#pragma once

#include <cstddef>
#include <cstdint>

#include "lockstep/record/choices.h"

namespace lockstep::comm {

using record::Wire;

/// A power of two that brings the largest of the values close to the largest half, so that small
/// gradients do not vanish. 1 for kBrain, which needs none, and where no value is finite and not
/// zero.
float wire_scale(Wire wire, const float* values, std::size_t count);

/// Rounds values * scale to the nearest, ties to even: a relative error of at most 2^-11 (kHalf) or
/// 2^-8 (kBrain), and with kHalf an absolute one of at most 2^-40 of the largest value. What is not
/// finite stays so. `wire` is not kFloat.
void encode(Wire wire, const float* values, std::size_t count, float scale, std::uint16_t* encoded);

/// values[i] = encoded[i] / scale, or += if `add`.
void decode(Wire wire, const std::uint16_t* encoded, std::size_t count, float scale, bool add,
            float* values);

}  // namespace lockstep::comm
