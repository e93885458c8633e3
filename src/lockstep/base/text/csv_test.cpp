#include "lockstep/base/text/csv.h"

#include <gtest/gtest.h>

#include <sstream>

namespace lockstep {
namespace {

using Record = std::vector<std::string>;

TEST(Csv, ReadsQuotesLineBreaksAndCrLf) {
  std::istringstream in("a,b\r\n\"x,\"\"1\"\"\ny\",\n\nlast");
  Record record;
  std::size_t lines = 0;
  ASSERT_TRUE(read_csv_record(in, record, lines));
  EXPECT_EQ(record, (Record{"a", "b"}));
  ASSERT_TRUE(read_csv_record(in, record, lines));
  EXPECT_EQ(record, (Record{"x,\"1\"\ny", ""}));
  EXPECT_EQ(lines, 3u);
  ASSERT_TRUE(read_csv_record(in, record, lines));
  EXPECT_EQ(record, (Record{""}));
  ASSERT_TRUE(read_csv_record(in, record, lines));
  EXPECT_EQ(record, (Record{"last"}));
  EXPECT_FALSE(read_csv_record(in, record, lines));
}

TEST(Csv, WhatIsWrittenIsReadBack) {
  const Record original{"plain", "", "a,b", "say \"hi\"", "two\nlines", " spaces "};
  std::string text;
  for (const auto& field : original) text += (text.empty() ? "" : ",") + csv_field(field);
  std::istringstream in(text + "\n");
  Record record;
  std::size_t lines = 0;
  ASSERT_TRUE(read_csv_record(in, record, lines));
  EXPECT_EQ(record, original);
}

TEST(Csv, AQuoteInsideAPlainFieldIsAnOrdinaryCharacter) {
  std::istringstream in("5\" disk,x\nnext, \"a b\" ,y\n");
  Record record;
  std::size_t lines = 0;
  ASSERT_TRUE(read_csv_record(in, record, lines));
  EXPECT_EQ(record, (Record{"5\" disk", "x"}));
  ASSERT_TRUE(read_csv_record(in, record, lines));
  EXPECT_EQ(record, (Record{"next", "a b ", "y"}));
}

TEST(Csv, AQuoteThatIsNeverClosedEndsWithTheInput) {
  std::istringstream in("a,\"b\nc,d\n");
  Record record;
  std::size_t lines = 0;
  ASSERT_TRUE(read_csv_record(in, record, lines));
  EXPECT_EQ(record, (Record{"a", "b\nc,d"}));
  EXPECT_EQ(lines, 2u);
  EXPECT_FALSE(read_csv_record(in, record, lines));
}

}  // namespace
}  // namespace lockstep
