#include "lockstep/comm/rendezvous/mac.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace lockstep::comm {
namespace {

std::string hex_text(const Mac& value) {
  std::string text;
  for (const std::byte byte : value) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[std::to_integer<int>(byte >> 4)];
    text += kDigits[std::to_integer<int>(byte & std::byte{15})];
  }
  return text;
}

std::span<const std::byte> as_bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// Test cases 2 and 6 of RFC 4231.
TEST(ComputeMac, GivesTheCodesOfTheStandard) {
  EXPECT_EQ(hex_text(compute_mac(as_bytes_of("Jefe"), as_bytes_of("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(
      hex_text(compute_mac(as_bytes_of(std::string(131, '\xaa')),
                           as_bytes_of("Test Using Larger Than Block-Size Key - Hash Key First"))),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(ComputeMac, TakesAnEmptyKeyAndAnEmptyMessage) {
  EXPECT_EQ(hex_text(compute_mac({}, {})),
            "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(EqualInConstantTime, ComparesAllBytes) {
  Mac a{};
  Mac b{};
  EXPECT_TRUE(equal_in_constant_time(a, b));
  b[31] = std::byte{1};
  EXPECT_FALSE(equal_in_constant_time(a, b));
}

}  // namespace
}  // namespace lockstep::comm
