#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace lockstep::import {

/// Whether figures may stand on a line; cheap, and often true without any.
bool may_have_figures(std::string_view text);

/// A line of one sign: "=====", "-----", "#####".
bool is_separator(std::string_view text);

/// "Step 10: ...", "[train] iter 10: ...", "step=10, loss ...", "step 10 loss ...": the step and
/// where the line goes on.
std::optional<std::pair<std::int64_t, std::size_t>> find_step(std::string_view text);

/// "--- 38.1 seconds ---".
std::optional<double> dashed_seconds(std::string_view text);

/// Whether the line says that memory ran out, and not that it might.
bool tells_of_exhausted_memory(std::string_view text);

}  // namespace lockstep::import
