#include "lockstep/serve/access.h"

#include <gtest/gtest.h>

#include <random>

#include "lockstep/base/error.h"
#include "lockstep/base/system/loopback.h"

namespace lockstep::serve {
namespace {

TEST(Access, OnLoopbackNeedsNoTokenAndElsewhereRefusesToGoWithout) {
  EXPECT_FALSE(Access("127.0.0.1", "").needs_token());
  EXPECT_THROW(Access("0.0.0.0", ""), Error);
  EXPECT_THROW(Access("192.168.1.7", ""), Error);
  EXPECT_TRUE(Access("0.0.0.0", "secret").needs_token());
}

TEST(Access, OnLoopbackTakesOnlyNamesOfLoopback) {
  const Access access("127.0.0.1", "");
  for (const char* name : {"localhost", "localhost:8080", "127.0.0.1:1", "[::1]:9", "LOCALHOST"}) {
    EXPECT_TRUE(access.host_allowed(name)) << name;
  }
  for (const char* name :
       {"", "evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example",
        "localhost:80x", "[::1", "localhost@evil", "127.0.0.1 ", ":80"}) {
    EXPECT_FALSE(access.host_allowed(name)) << name;
  }
}

TEST(Access, TakesTheWholeTokenAndNothingElse) {
  const Access access("0.0.0.0", "0123456789abcdef");
  EXPECT_TRUE(access.token_matches("0123456789abcdef"));
  for (const char* wrong : {"", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeF",
                            "0123456789abcdef0123456789abcdef"}) {
    EXPECT_FALSE(access.token_matches(wrong)) << wrong;
  }
  EXPECT_FALSE(Access("localhost", "").token_matches(""));
}

TEST(Access, FindsACookieAmongOthers) {
  EXPECT_EQ(cookie("a=1; lockstep=xyz; b=2", "lockstep"), "xyz");
  EXPECT_EQ(cookie("lockstep=", "lockstep"), "");
  EXPECT_EQ(cookie("notlockstep=1", "lockstep"), std::nullopt);
  EXPECT_EQ(cookie("", "lockstep"), std::nullopt);
  EXPECT_EQ(cookie(";;;", "lockstep"), std::nullopt);
}

TEST(Access, NeverAllowsAHostThatIsNotLoopbackForAnyBytes) {
  constexpr std::string_view kLetters = "localhst127.0:[]@/ \x01\xffx";
  std::mt19937 random(7);
  const Access access("127.0.0.1", "");
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 20, '\0');
    for (char& letter : text) letter = kLetters[random() % kLetters.size()];
    if (!access.host_allowed(text)) continue;
    EXPECT_TRUE(is_loopback(*host_of(text))) << text;
  }
}

TEST(Access, FreshTokensDiffer) {
  EXPECT_EQ(fresh_token().size(), 32u);
  EXPECT_NE(fresh_token(), fresh_token());
}

}  // namespace
}  // namespace lockstep::serve
