#include "lockstep/launch/process/line_buffer.h"

#include <gtest/gtest.h>

#include <vector>

#include "lockstep/base/rng.h"

namespace lockstep::launch {
namespace {

std::vector<std::string> lines_of(const std::vector<std::string>& pieces, std::size_t limit) {
  std::vector<std::string> lines;
  const auto keep = [&](std::string_view line) { lines.emplace_back(line); };
  LineBuffer buffer(limit);
  for (const std::string& piece : pieces) buffer.add(piece, keep);
  buffer.finish(keep);
  return lines;
}

TEST(LineBuffer, HandsOnLinesForAnyPieces) {
  const std::string text = "first\n\nthird line\r\nlast without end";
  const std::vector<std::string> expected{"first", "", "third line", "last without end"};
  Rng rng(7);
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t length = 1 + rng.below(text.size() - at);
      pieces.push_back(text.substr(at, length));
      at += length;
    }
    ASSERT_EQ(lines_of(pieces, 1000), expected);
  }
}

TEST(LineBuffer, CutsALineWithoutEndAtTheLimit) {
  EXPECT_EQ(lines_of({std::string(25, 'x')}, 10),
            (std::vector<std::string>{std::string(10, 'x'), std::string(10, 'x'), "xxxxx"}));
  EXPECT_EQ(lines_of({std::string(10, 'x'), "\n", "y\n"}, 10),
            (std::vector<std::string>{std::string(10, 'x'), "y"}));
}

}  // namespace
}  // namespace lockstep::launch
