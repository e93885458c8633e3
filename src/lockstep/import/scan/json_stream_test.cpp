#include "lockstep/import/scan/json_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

namespace lockstep::import {
namespace {

/// Hands out its text in pieces of every size, so that any token may lie across two of them.
class Pieces final : public ByteSource {
 public:
  Pieces(std::string text, std::size_t size) : text_(std::move(text)), size_(size) {}
  std::size_t read(char* buffer, std::size_t size) override {
    const std::size_t count = std::min({size, size_, text_.size() - at_});
    std::copy_n(text_.data() + at_, count, buffer);
    at_ += count;
    return count;
  }

 private:
  std::string text_;
  std::size_t size_;
  std::size_t at_ = 0;
};

TEST(JsonStream, TokensAcrossPiecesAreTheSame) {
  const std::string text =
      R"({"name": "a\"b\u00e9", "skipped": {"x": ["}", "\\", {"y": 1}], "z": "\""}, "n": -12.5e2,)"
      R"( "big": 1234567890123456789, "list": [1, 2.25, "three", null, true]})";
  for (std::size_t size = 1; size < text.size(); ++size) {
    // Blanks first: the beginning of an input is read at once, to see what it is.
    Input input("pieces", std::make_unique<Pieces>(std::string(70, ' ') + text, size));
    JsonStream json(input);
    std::string seen;
    std::string key;
    for (JsonToken token = json.next(); token != JsonToken::kEnd; token = json.next()) {
      if (token == JsonToken::kKey) key = json.text();
      if (token == JsonToken::kString) seen += key + "=" + std::string(json.text()) + ";";
      if (token == JsonToken::kNumber) seen += key + "=" + std::to_string(json.number()) + ";";
      if (key == "skipped") json.skip(token);
    }
    EXPECT_EQ(json.problem(), "") << size;
    EXPECT_EQ(seen,
              "name=a\"b\xC3\xA9;n=-1250.000000;big=1234567890123456768.000000;"
              "list=1.000000;list=2.250000;list=three;")
        << size;
  }
}

}  // namespace
}  // namespace lockstep::import
