#include "lockstep/import/scan/plain_number.h"

#include <cfloat>

namespace lockstep::import {

/// Both factors fit the 64-bit mantissa of an extended float. Rounding that to a double is rounding
/// twice, which can differ from rounding once only next to the middle between two doubles: false
/// there, and where floats are not so long.
bool long_number(std::uint64_t digits, int exponent, double& value) {
#if LDBL_MANT_DIG == 64
  static constexpr long double kLongPowers[] = {
      1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,  1e10L, 1e11L,
      1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L, 1e22L};
  const auto whole = static_cast<long double>(digits);
  const long double exact =
      exponent < 0 ? whole / kLongPowers[-exponent] : whole * kLongPowers[exponent];
  std::uint64_t mantissa = 0;
  std::memcpy(&mantissa, &exact, sizeof mantissa);
  const std::uint64_t rest = mantissa & 0x7FF;
  if (rest >= 0x3FE && rest <= 0x402) return false;
  value = static_cast<double>(exact);
  return true;
#else
  (void)digits, (void)exponent, (void)value;
  return false;
#endif
}

}  // namespace lockstep::import
