#include "lockstep/base/digest.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace lockstep {
namespace {

TEST(Digest, ChangesWithEveryBitAndWithTheLength) {
  std::set<std::uint64_t> seen;
  std::size_t made = 0;
  for (std::size_t length : {0U, 1U, 31U, 32U, 33U, 100U}) {
    std::vector<std::byte> bytes(length);
    seen.insert(digest(bytes));
    ++made;
    for (std::size_t bit = 0; bit < length * 8; ++bit) {
      bytes[bit / 8] ^= std::byte(1U << (bit % 8));
      seen.insert(digest(bytes));
      ++made;
      bytes[bit / 8] ^= std::byte(1U << (bit % 8));
    }
  }
  EXPECT_EQ(seen.size(), made);
}

TEST(Digest, ChangesWhenBlocksTradePlaces) {
  std::vector<std::byte> a(128), b(128);
  a[0] = b[64] = std::byte{7};
  EXPECT_NE(digest(a), digest(b));
}

}  // namespace
}  // namespace lockstep
