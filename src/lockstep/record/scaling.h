#pragma once

#include <optional>
#include <string_view>

namespace lockstep::record {

/// What stays the same while the number of workers changes: the global batch (strong), the batch
/// per worker (weak), or neither (mixed).
enum class Scaling { kStrong, kWeak, kMixed };

/// "strong", "weak", "mixed".
std::string_view scaling_name(Scaling scaling);
/// The inverse; nothing for other text.
std::optional<Scaling> scaling_from_name(std::string_view name);

}  // namespace lockstep::record
