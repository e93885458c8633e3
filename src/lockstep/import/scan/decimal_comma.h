#pragma once

#include <string>
#include <string_view>

namespace lockstep::import {

/// Whether a log writes 0,91 for 0.91, as programs do in many locales: its beginning has numbers
/// with one comma that can be no thousands, and none with a point. Lists ("0,1,2") and the
/// milliseconds of times ("12:46:18,804") are no such numbers.
bool writes_decimal_commas(std::string_view sample);

/// `text` with a point for each comma between two digits. The view is of `buffer`.
std::string_view with_decimal_points(std::string_view text, std::string& buffer);

}  // namespace lockstep::import
