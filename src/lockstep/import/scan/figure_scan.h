#pragma once

#include <cstddef>
#include <string_view>

#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {

/// A named number in a line of prose or pairs: "val_acc=38.17%", "train loss 0.65", "time: 12.3 s".
struct Figure {
  std::string_view name;  ///< "" for a bare rate or time: "512 img/s", "(10.1 s)"
  double value = 0;
  bool percent = false;
  std::string_view unit;    ///< the word right after the number, "" without: "img/s", "ms", "s"
  std::string_view phrase;  ///< all words of the name: "Communication time for epoch"
  std::string_view after;   ///< the line after the number
};

/// The figures of a line, one after the other: each number that has a name before it, the two apart
/// by blanks, ':' or '=' (or not at all: "loss0.25"), and rates and times without a name. Numbers
/// that are part of a word ("conv2", "Acc@1") or of a ratio ("3/16") are none.
class FigureScan {
 public:
  explicit FigureScan(std::string_view text) : text_(text) {}
  /// False at the end of the line.
  bool next(Figure& figure);

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t name_begin_ = 0;
};

/// Calls `take(figure)` for each figure of `text`.
template <class Take>
void for_each_figure(std::string_view text, Take&& take) {
  FigureScan scan(text);
  Figure figure;
  while (scan.next(figure)) take(figure);
}

}  // namespace lockstep::import
