#include "lockstep/import/scan/json_line.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstep::import {
namespace {

/// "outer.name=raw;" of each field, or "no" for what is no object.
std::string field_list(JsonLine& json, const std::string& text) {
  if (!json.parse(text)) return "no";
  std::string seen;
  for (const JsonLineField& field : json.fields()) {
    seen += std::string(field.outer) + "." + std::string(field.name) + "=" +
            std::string(field.raw) + (field.is_text ? "'" : "") + ";";
  }
  return seen;
}

const std::vector<std::string>& lines() {
  static const std::vector<std::string> kLines{
      R"({"loss": 0.5, "acc": 0.25, "_step": 1})",
      R"({"loss": 0.4, "acc": 0.5, "_step": 2})",
      R"({"loss": 0.4, "_step": 3})",
      R"({"loss": 0.4, "acc": null, "_step": 4, "more": true})",
      R"({"loss": {"a": 1, "b": [1, {"c": 2}], "d": "x"}, "_step": 5})",
      R"({"loss": {"a": 2, "b": [3, {"c": 4}], "d": "y\"z"}, "_step": 6})",
      R"({"loss": {"a": 2, "deeper": {"c": 4}}, "na\u006de": 7})",
      R"({"loss": , "acc": 0.5})",
      R"({"loss": 0.4, "acc)",
      R"({"loss": 0.4, "acc": 0.5, "_step")",
      R"({"loss": 0.4, "acc": 0.5, "_step": 2)",
      R"({})",
      R"({"loss": "text", "acc": -1e-5, "_step": NaN} and more)",
      "no object",
      ""};
  return kLines;
}

TEST(JsonLine, FindsTheValuesOfAnObject) {
  JsonLine json;
  EXPECT_EQ(field_list(json, lines()[0]), ".loss=0.5;.acc=0.25;._step=1;");
  EXPECT_EQ(field_list(json, lines()[4]), "loss.a=1;loss.d=x';._step=5;");
  EXPECT_EQ(field_list(json, lines()[6]), "loss.a=2;.name=7;");
  EXPECT_EQ(field_list(json, lines()[8]), "no");
  EXPECT_EQ(*json.fields().at(0).number(), 0.4) << "of a line that was cut, what is there";
}

TEST(JsonLine, LineIsReadAlikeWhateverStoodBeforeIt) {
  for (const std::string& before : lines()) {
    for (const std::string& line : lines()) {
      JsonLine fresh;
      const std::string expected = field_list(fresh, line);
      JsonLine used;
      field_list(used, before);
      EXPECT_EQ(field_list(used, line), expected) << before << " then " << line;
      EXPECT_EQ(field_list(used, line), expected) << before << " then twice " << line;
    }
  }
}

TEST(JsonLine, LinesThatChangeAllTheTimeAreReadAlike) {
  JsonLine used;
  for (std::size_t i = 0; i < 1000; ++i) {
    const std::string& line = lines()[i * 7 % lines().size()];
    JsonLine fresh;
    EXPECT_EQ(field_list(used, line), field_list(fresh, line)) << line;
  }
}

}  // namespace
}  // namespace lockstep::import
