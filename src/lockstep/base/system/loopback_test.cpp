#include "lockstep/base/system/loopback.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(IsLoopback, TakesAddressesOfThisMachineOnly) {
  for (const char* host : {"localhost", "127.0.0.1", "127.0.1.1", "::1"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const char* host : {"127.example.org", "127.0.0.1.example.org", "10.0.0.1", "", "::2"}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

}  // namespace
}  // namespace lockstep
