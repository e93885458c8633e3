#pragma once

#include <string_view>

namespace lockstep::import {

/// "Loss 7.2095e+00 (8.1078e+00)": a figure and its mean over the epoch.
struct Meter {
  std::string_view name;
  double value = 0;
  double mean = 0;  ///< the value itself where no mean is beside it
};

/// Takes the next "Name 1.2 (3.4)" or "name: 1.2 (3.4)" from `text`. False, and `text` empty, when
/// there is none.
bool take_meter(std::string_view& text, Meter& meter);

}  // namespace lockstep::import
