#include "lockstep/base/text/duration.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(ParseDuration, ReadsNumbersWithUnits) {
  EXPECT_EQ(parse_duration("12s"), 12);
  EXPECT_NEAR(*parse_duration("31ms"), 0.031, 1e-12);
  EXPECT_NEAR(*parse_duration("503us"), 503e-6, 1e-12);
  EXPECT_EQ(parse_duration("1.5 h"), 5400);
  EXPECT_EQ(parse_duration("3d"), 3 * 86400);
  EXPECT_EQ(parse_duration("2m 3s"), 123);
  EXPECT_EQ(parse_duration("1h30min"), 5400);
}

TEST(ParseDuration, ReadsClockFaces) {
  EXPECT_EQ(parse_duration("1:23"), 83);
  EXPECT_EQ(parse_duration("1:02:03"), 3723);
  EXPECT_EQ(parse_duration("1-00:00:10"), 86410);
  EXPECT_EQ(parse_duration("00:01.5"), 1.5);
}

TEST(ParseDuration, RefusesOtherText) {
  for (const char* text :
       {"", "fast", "12", "12 parsecs", "1:2:3:4", "1:-2", "infs", "nan:1", ":"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

}  // namespace
}  // namespace lockstep
