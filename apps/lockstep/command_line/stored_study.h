#pragma once

#include <string>
#include <string_view>

#include "lockstep/collect/stored_runs.h"
#include "lockstep/store/store.h"

namespace lockstep::cli {

/// The measurements of one study, of all runs if it has no name. Where `study` is the path of a
/// file, the error names the option of `command` that reads files.
collect::StoredRuns stored_study(const std::string& store_path, const std::string& study,
                                 std::string_view command);

}  // namespace lockstep::cli
