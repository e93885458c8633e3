#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lockstep::import {

/// A progress bar of tqdm: "Epoch 3:  45%|####5     | 99/220 [00:10<00:12,  9.50it/s, loss=0.3]".
struct TqdmBar {
  std::string_view label;  ///< what precedes the percentage
  std::int64_t done = 0;
  std::int64_t of = 0;
  double elapsed_s = 0;
  std::string_view figures;  ///< what follows the rate: "loss=0.3"
  std::string_view rest;     ///< what another part of the program printed behind the bar

  bool finished() const { return of > 0 && done >= of; }
};

/// The last bar of the line, which is what a terminal would have shown.
std::optional<TqdmBar> find_tqdm_bar(std::string_view text);

}  // namespace lockstep::import
