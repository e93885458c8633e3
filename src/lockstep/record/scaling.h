#pragma once

#include <optional>
#include <string_view>

namespace lockstep::record {

/// What stays the same while the number of workers changes: the global batch (strong), the batch
/// per worker (weak), neither (mixed), or unknown (unstated): the source states no batch, or not
/// whether it is of one worker or of all.
enum class Scaling { kStrong, kWeak, kMixed, kUnstated };

/// "strong", "weak", "mixed", "unstated".
std::string_view scaling_name(Scaling scaling);
/// The inverse; nothing for other text. A source that does not state it has no name for it.
std::optional<Scaling> scaling_from_name(std::string_view name);

}  // namespace lockstep::record
