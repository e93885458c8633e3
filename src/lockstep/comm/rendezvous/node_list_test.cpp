#include "lockstep/comm/rendezvous/node_list.h"

#include <gtest/gtest.h>

#include <random>

#include "lockstep/base/error.h"

namespace lockstep::comm {
namespace {

using Hosts = std::vector<std::string>;

TEST(NodeList, ExpandsRangesAndSingleNumbers) {
  EXPECT_EQ(expand_node_list("node[1-3,7]"), (Hosts{"node1", "node2", "node3", "node7"}));
}

TEST(NodeList, KeepsLeadingZeros) {
  EXPECT_EQ(expand_node_list("n[08-11]"), (Hosts{"n08", "n09", "n10", "n11"}));
}

TEST(NodeList, ExpandsSeveralNamesAndSeveralBrackets) {
  EXPECT_EQ(expand_node_list("a,b[1-2],c"), (Hosts{"a", "b1", "b2", "c"}));
  EXPECT_EQ(expand_node_list("r[1-2]n[3,5]x"), (Hosts{"r1n3x", "r1n5x", "r2n3x", "r2n5x"}));
}

TEST(NodeList, RefusesTextThatIsNotAList) {
  for (const char* text : {"", "a,", "node[", "node]", "node[]", "node[1-]", "node[3-1]", "node[a]",
                           "n[[1]]", "n[1", "n[0-999999999]", "n[1-99999]m[1-99999]"}) {
    EXPECT_THROW(expand_node_list(text), Error) << text;
  }
}

TEST(NodeList, NeverGivesAnEmptyNameForAnyText) {
  std::mt19937 random(7);
  const std::string letters = "n[]1-,09";
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (auto length = random() % 12; length > 0; --length) text += letters[random() % 8];
    try {
      for (const std::string& host : expand_node_list(text)) ASSERT_FALSE(host.empty()) << text;
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace lockstep::comm
