#pragma once

#include <set>
#include <string_view>

namespace lockstep::import {

/// How a launcher marks whose line it is.
enum class PrefixStyle {
  kNone,
  kTagged,  ///< mpirun --tag-output and horovodrun: "[1,3]<stdout>:", "[3]<stderr>:"
  kNamed,   ///< torchrun, PyTorch and scripts: "[default3]:", "[rank: 3]", "Rank 3 - ", "[GPU3] "
  kNumber,  ///< srun --label: "3: "
  kBare,    ///< scripts: "[3] epoch 1", "(3) epoch 1"
};

/// From the first lines of a file.
PrefixStyle prefix_style(std::string_view text);

/// The rank of a line and what the rank itself wrote; rank -1, and the line whole, when it carries
/// no prefix of that style. "Epoch 3 | Rank 1 | loss 0.4" has a rank and stays whole.
struct RankedText {
  int rank = -1;
  std::string_view text;
  int of = 0;  ///< "Rank 1/4": the number of ranks; 0 = not stated
};

RankedText split_rank(std::string_view line, PrefixStyle style);

/// How many ranks there are, by those that were seen: 0 where one below the highest is missing, so
/// that others may be as well.
int count_of_ranks(const std::set<int>& seen);

}  // namespace lockstep::import
