#include "lockstep/base/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep {
namespace {

std::string hex(const Sha256& value) {
  std::string text;
  for (const std::byte byte : value) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[std::to_integer<int>(byte >> 4)];
    text += kDigits[std::to_integer<int>(byte & std::byte{15})];
  }
  return text;
}

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// The examples of FIPS 180-4.
TEST(Sha256, GivesTheStandardsDigests) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Test cases 2 and 6 of RFC 4231.
TEST(HmacSha256, GivesTheStandardsCodes) {
  EXPECT_EQ(hex(hmac_sha256(bytes("Jefe"), bytes("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(bytes(std::string(131, '\xaa')),
                            bytes("Test Using Larger Than Block-Size Key - Hash Key First"))),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(FillRandom, GivesOtherBytesEachTime) {
  Sha256 a{};
  Sha256 b{};
  fill_random(a);
  fill_random(b);
  EXPECT_FALSE(equal_in_constant_time(a, b));
  EXPECT_TRUE(equal_in_constant_time(a, a));
}

}  // namespace
}  // namespace lockstep
