#include "lockstep/import/plain_number.h"

#include <bit>
#include <cfloat>
#include <cstdint>
#include <cstring>

#include "lockstep/import/text_scan.h"

namespace lockstep::import {
namespace {

constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                              1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                              1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/// Whether eight bytes are digits, and their value: all at once, in one word.
bool eight_digits(const char* at, std::uint64_t& value) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  if constexpr (std::endian::native != std::endian::little) return false;
  const std::uint64_t low = word - 0x3030303030303030u;
  const std::uint64_t high = word + 0x4646464646464646u;
  if (((low | high) & 0x8080808080808080u) != 0) return false;
  // Neighbours are put together three times: digits to pairs, to fours, to all eight.
  std::uint64_t sum = low * 10 + (low >> 8);
  sum = (sum & 0x00FF00FF00FF00FFu) * 100 + ((sum >> 16) & 0x00FF00FF00FF00FFu);
  sum = (sum & 0x0000FFFF0000FFFFu) * 10000 + ((sum >> 32) & 0x0000FFFF0000FFFFu);
  value = sum & 0xFFFFFFFFu;
  return true;
}

/// digits x 10^exponent where both fit the 64-bit mantissa of an extended float. Rounding that to a
/// double is rounding twice, which can differ from rounding once only next to the middle between
/// two doubles: false there, and where floats are not so long.
bool extended_number(std::uint64_t digits, int exponent, double& value) {
#if LDBL_MANT_DIG == 64
  static const long double kLongPowers[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,
                                            1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L,
                                            1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L, 1e22L};
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

}  // namespace

const char* plain_number(const char* at, const char* end, double& value) {
  const bool negative = *at == '-';
  if (negative || *at == '+') ++at;
  std::uint64_t digits = 0;
  int count = 0;
  int decimals = 0;
  for (; at != end && is_digit(*at); ++at, ++count)
    digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
  if (at != end && *at == '.') {
    const char* point = at;
    ++at;
    for (std::uint64_t eight = 0; end - at >= 8 && eight_digits(at, eight);) {
      digits = digits * 100'000'000 + eight;
      at += 8;
      count += 8;
      decimals += 8;
    }
    for (; at != end && is_digit(*at); ++at, ++count, ++decimals) {
      digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
    }
    if (decimals == 0) at = point + (count > 0 ? 1 : 0);
  }
  int exponent = 0;
  if (at + 1 < end && (*at == 'e' || *at == 'E')) {
    const char* sign = at + 1;
    const bool minus = *sign == '-';
    if (minus || *sign == '+') ++sign;
    if (sign != end && is_digit(*sign)) {
      for (; sign != end && is_digit(*sign) && exponent < 1000; ++sign)
        exponent = exponent * 10 + (*sign - '0');
      if (minus) exponent = -exponent;
      at = sign;
    }
  }
  exponent -= decimals;
  // Nineteen digits always fit 64 bits.
  if (count == 0 || count > 19 || exponent < -22 || exponent > 22) return nullptr;
  if (count > 15) {
    if (!extended_number(digits, exponent, value)) return nullptr;
  } else {
    value = static_cast<double>(digits);
    value = exponent < 0 ? value / kPowers[-exponent] : value * kPowers[exponent];
  }
  if (negative) value = -value;
  return at;
}

}  // namespace lockstep::import
