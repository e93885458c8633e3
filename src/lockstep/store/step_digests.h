#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::store {

/// Keeps the steps of a run summed up, so that the next reader need not read them all. The store
/// does not look into the text; `form` names the reader, and replaces what was kept in any form
/// before. Goes with the run when that is deleted. Throws kData when the store cannot be written or
/// has no such run.
void keep_step_digest(const std::string& store_path, std::int64_t run, std::string_view form,
                      std::string_view text);

}  // namespace lockstep::store
