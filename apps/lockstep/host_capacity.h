#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lockstep::cli {

/// The most workers that the hosts of a finished run have room for, over the runs of a store or of
/// one study in it; see record::host_room().
std::optional<std::int64_t> workers_that_hosts_hold(const std::string& store_path,
                                                    const std::string& study);

}  // namespace lockstep::cli
