#pragma once

namespace lockstep::import {

/// Reads the decimal number at `at`, which must not be `end`, and gives where it stops: sign,
/// digits, decimals, exponent. The digits as an integer, divided or multiplied once, is exact as
/// long as both are (Clinger 1990). Null for what is no number or needs more care than that.
const char* plain_number(const char* at, const char* end, double& value);

}  // namespace lockstep::import
