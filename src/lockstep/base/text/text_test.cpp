#include "lockstep/base/text/text.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Trim, DropsBlanksAtBothEndsOnly) {
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(trim(" \v\f "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Printable, ReplacesWhatCouldSteerATerminal) {
  EXPECT_EQ(printable("a\x1B[2Jb\x7F"), "a [2Jb ");
  EXPECT_EQ(printable("a\nb"), "a b");
  EXPECT_EQ(printable("\xC2\x9B"), " ");  // a control character of two bytes
}

TEST(Printable, ReplacesBytesThatAreNotUtf8) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(printable("caf\xC3\xA9"), "caf\xC3\xA9");
  EXPECT_EQ(printable("caf\xE9!"), "caf" + mark + "!");
  EXPECT_EQ(printable("\xC0\xAF"), mark + mark);             // overlong
  EXPECT_EQ(printable("\xED\xA0\x80"), mark + mark + mark);  // a surrogate
  EXPECT_EQ(printable("\xE2\x82"), mark + mark);             // cut off
}

TEST(Printable, StopsAtTheLongestLengthWithoutCuttingACharacter) {
  EXPECT_EQ(printable("abcdef", 3), "abc");
  EXPECT_EQ(printable("ab\xC3\xA9"
                      "cd",
                      3),
            "ab\xC3\xA9");
}

TEST(Text, EscapesWhatHtmlWouldReadAsMarkup) {
  EXPECT_EQ(html_escaped("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;");
}

}  // namespace
}  // namespace lockstep
