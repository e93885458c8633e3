#pragma once

#include <string_view>

namespace lockstep::import {

/// Whose figures a line has, by the words on it.
enum class Split {
  kNone,
  kTrain,
  kValidation,  ///< validation or test
  kBoth,
};

/// By the words "train", "val", "test" and the like, in letters of any case.
Split split_of(std::string_view text);

/// Where the first word about validation or test begins; null without.
const char* first_validation_word(std::string_view text);

}  // namespace lockstep::import
