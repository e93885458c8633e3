#include "lockstep/base/units.h"

#include <gtest/gtest.h>

#include "lockstep/base/error.h"

namespace lockstep {
namespace {

TEST(Units, FormatsTimesWithThreeDigitsAndTheRightUnit) {
  EXPECT_EQ(format_seconds(Seconds(0)), "0 s");
  EXPECT_EQ(format_seconds(Seconds(412e-6)), "412 us");
  EXPECT_EQ(format_seconds(Seconds(0.0382)), "38.2 ms");
  EXPECT_EQ(format_seconds(Seconds(0.9999)), "1.00 s");
  EXPECT_EQ(format_seconds(Seconds(12.44)), "12.4 s");
  EXPECT_EQ(format_seconds(Seconds(187)), "3 min 07 s");
  EXPECT_EQ(format_seconds(Seconds(7500)), "2 h 05 min");
}

TEST(Units, FormatsBytesInDecimalUnits) {
  EXPECT_EQ(format_bytes(Bytes{999}), "999 B");
  EXPECT_EQ(format_bytes(Bytes{44'695'848}), "44.7 MB");
}

TEST(Units, GroupsDigitsOfCounts) {
  EXPECT_EQ(format_count(11'173'962), "11,173,962");
  EXPECT_EQ(format_count(-1234), "-1,234");
  EXPECT_EQ(format_count(123), "123");
}

TEST(Units, RoundsATimeAndItsLogarithmAlike) {
  EXPECT_EQ(format_seconds(Seconds(120.5)), "2 min 01 s");
  EXPECT_EQ(format_seconds(Seconds(120.5 * (1 - 1e-15))), "2 min 01 s");
}

TEST(Units, CountsHaveTheirNounInSingularOrPlural) {
  EXPECT_EQ(counted(1, "worker"), "1 worker");
  EXPECT_EQ(counted(0, "worker"), "0 workers");
  EXPECT_EQ(counted(1024, "worker"), "1,024 workers");
  EXPECT_EQ(counted(1, "process", "processes"), "1 process");
  EXPECT_EQ(counted(3, "process", "processes"), "3 processes");
}

TEST(Units, ParsesSizesWithDecimalAndBinaryUnits) {
  EXPECT_EQ(parse_bytes("25MB", "--bucket").count, 25'000'000u);
  EXPECT_EQ(parse_bytes("64 KiB", "--bucket").count, 65'536u);
  EXPECT_EQ(parse_bytes("1e6", "--bucket").count, 1'000'000u);
}

TEST(Units, RefusesTextThatIsNotASizeAndNamesTheOption) {
  for (const char* text : {"", "MB", "-1", "5 parsecs", "nan", "1e30"}) {
    try {
      parse_bytes(text, "--bucket");
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_NE(std::string(error.what()).find("--bucket"), std::string::npos);
    }
  }
}

TEST(Units, FormatsUtcWithMilliseconds) {
  EXPECT_EQ(format_utc(1'000'000'000'123'000'000), "2001-09-09T01:46:40.123Z");
}

}  // namespace
}  // namespace lockstep
