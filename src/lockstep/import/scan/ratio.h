#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lockstep::import {

/// "12/391": how far something is.
struct Ratio {
  std::int64_t done = 0;
  std::int64_t of = 0;
};

/// Takes a ratio from the front of `text`, after blanks. Nothing, and `text` unchanged, where there
/// is none or a part of it is negative or absurdly large.
std::optional<Ratio> take_ratio(std::string_view& text);

}  // namespace lockstep::import
