#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lockstep::import {

/// The place of a line of free text in a run.
struct EpochMark {
  std::int64_t epoch = 0;
  std::int64_t planned = 0;   ///< 0 = not stated
  std::size_t end = 0;        ///< where the line goes on after it
  std::int64_t position = 0;  ///< of the example or step within the epoch
  std::int64_t length = 0;    ///< 0 = not stated
  bool within = false;        ///< the line is about a part of the epoch
  /// "Time taken for epoch 3: 25.2", "took 83 s for epoch 3": how long the words before the epoch
  /// are, which name the figure or contain it; 0 where what follows the epoch explains itself.
  std::size_t named_by = 0;
};

/// "Epoch 3", "[Epoch 3]", "Epoch: 3/90", "epoch=3", "Epoch [3/90]", "Epoch 1 of 5", "Epoch #1",
/// "[ Train | 003/100 ]"; with a place in the epoch: "Train Epoch: 1 [640/60000 (1%)]",
/// "Epoch: [3][50]", "Epoch 1, iteration 10/999".
std::optional<EpochMark> find_epoch_mark(std::string_view text);

/// "6/32, train_loss: 0.4471" below the line that names `epoch`: a place in it.
std::optional<EpochMark> find_bare_place(std::string_view text, std::int64_t epoch);

}  // namespace lockstep::import
