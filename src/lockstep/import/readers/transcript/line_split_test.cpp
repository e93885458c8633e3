#include "lockstep/import/readers/transcript/line_split.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep::import {
namespace {

TEST(LineSplit, WordsCountAtEveryPlaceOfALine) {
  for (std::size_t before = 0; before < 40; ++before) {
    const std::string start(before, '.');
    for (std::size_t after = 0; after < 20; ++after) {
      const std::string end(after, '.');
      EXPECT_EQ(split_of(start + "Valid" + end), Split::kValidation) << before << " " << after;
      EXPECT_EQ(split_of(start + "TRAIN" + end), Split::kTrain) << before << " " << after;
      EXPECT_EQ(split_of(start + "train val" + end), Split::kBoth) << before << " " << after;
      EXPECT_EQ(split_of(start + "value" + end), Split::kNone) << before << " " << after;
    }
  }
}

TEST(LineSplit, PartsOfWordsAreNone) {
  for (const char* text : {"interval", "latest epoch", "trainer", "restraining", "evaluator", "",
                           "t", "an interval of the latest trainer that evolves"})
    EXPECT_EQ(split_of(text), Split::kNone) << text;
  EXPECT_EQ(split_of("eval_loss"), Split::kValidation);
  const std::string line = "train 0.4 val 0.5";
  EXPECT_EQ(first_validation_word(line), line.data() + 10);
  EXPECT_EQ(first_validation_word("train 0.4"), nullptr);
}

}  // namespace
}  // namespace lockstep::import
