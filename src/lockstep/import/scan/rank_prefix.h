#pragma once

#include <string_view>

namespace lockstep::import {

/// How a launcher marks whose line it is.
enum class PrefixStyle {
  kNone,
  kTagged,  ///< mpirun --tag-output and horovodrun: "[1,3]<stdout>:", "[3]<stderr>:"
  kNamed,   ///< torchrun and PyTorch: "[default3]:", "[rank3]:", "[rank: 3]"
  kNumber,  ///< srun --label: "3: "
};

/// From the first lines of a file.
PrefixStyle prefix_style(std::string_view text);

/// The rank of a line and what the rank itself wrote; rank -1, and the line whole, when it carries
/// no prefix of that style.
struct RankedText {
  int rank = -1;
  std::string_view text;
};

RankedText split_rank(std::string_view line, PrefixStyle style);

}  // namespace lockstep::import
