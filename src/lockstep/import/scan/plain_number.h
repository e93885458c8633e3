#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace lockstep::import {

/// What is left of plain_number() for digits that fill more than the 53 bits of a double: digits x
/// 10^exponent, the exponent from -22 to 22. False where that needs still more care.
bool long_number(std::uint64_t digits, int exponent, double& value);

namespace number_parts {

inline constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/// Whether eight bytes are digits, and their value: all at once, in one word.
inline bool eight_digits(const char* at, std::uint64_t& value) {
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

/// Takes the digits at `at` and gives how many there were.
inline int take_digits(const char*& at, const char* end, std::uint64_t& digits) {
  const char* begin = at;
  for (std::uint64_t eight = 0; end - at >= 8 && eight_digits(at, eight); at += 8)
    digits = digits * 100'000'000 + eight;
  for (unsigned digit = 0;
       at != end && (digit = static_cast<unsigned char>(*at) - unsigned{'0'}) < 10; ++at)
    digits = digits * 10 + digit;
  return static_cast<int>(at - begin);
}

/// Takes "e-05" at `at`.
inline int take_exponent(const char*& at, const char* end) {
  if (end - at < 2 || (*at | 0x20) != 'e') return 0;
  const char* sign = at + 1;
  const bool minus = *sign == '-';
  if (minus || *sign == '+') ++sign;
  const char* first = sign;
  int exponent = 0;
  for (; sign != end && *sign >= '0' && *sign <= '9' && exponent < 1000; ++sign)
    exponent = exponent * 10 + (*sign - '0');
  if (sign == first) return 0;
  at = sign;
  return minus ? -exponent : exponent;
}

}  // namespace number_parts

/// Reads the decimal number at `at`, which must not be `end`, and gives where it stops: sign,
/// digits, decimals, exponent. The digits as an integer, divided or multiplied once, is exact as
/// long as both are (Clinger 1990). Null for what is no number or needs more care than that.
/// Inline: it is the inner loop of most readers.
inline const char* plain_number(const char* at, const char* end, double& value) {
  using namespace number_parts;
  const bool negative = *at == '-';
  if (negative || *at == '+') ++at;
  std::uint64_t digits = 0;
  int count = take_digits(at, end, digits);
  int decimals = 0;
  if (at != end && *at == '.') {
    const char* point = at++;
    decimals = take_digits(at, end, digits);
    if (decimals == 0) at = point + (count > 0 ? 1 : 0);
    count += decimals;
  }
  const int exponent = take_exponent(at, end) - decimals;
  // Nineteen digits always fit 64 bits.
  if (count == 0 || count > 19 || exponent < -22 || exponent > 22) return nullptr;
  if (digits > std::uint64_t{1} << 53) {
    if (!long_number(digits, exponent, value)) return nullptr;
  } else {
    value = static_cast<double>(digits);
    value = exponent < 0 ? value / kPowers[-exponent] : value * kPowers[exponent];
  }
  if (negative) value = -value;
  return at;
}

}  // namespace lockstep::import
