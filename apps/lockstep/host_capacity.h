#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lockstep::cli {

/// The most workers that the hosts of a finished run have room for, with the threads (or the GPU)
/// that each worker had there, or that were run; over the runs of a store, or of one study in it.
/// Nothing where no run tells what its host has, as imported ones do not.
std::optional<std::int64_t> workers_that_hosts_hold(const std::string& store_path,
                                                    const std::string& study);

}  // namespace lockstep::cli
