#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "lockstep/data/files/mapped_file.h"

namespace lockstep::data {

/// Inflated copies of compressed data files, in lockstep/data of XDG_CACHE_HOME or ~/.cache:
/// mapping one takes microseconds and its pages are shared by all ranks of a host, where inflating
/// takes tenths of a second in each. A copy is found by the path, size and time of change of its
/// source. The folder may be deleted at any time. Without a place for it nothing is kept.

/// The copy of `size` bytes that was kept for `source`, or nothing.
std::optional<MappedFile> find_inflated(const std::string& source, std::uint64_t size);

/// Keeps the copy for the next run, if it is large enough to be worth it. Never throws: a cache
/// that cannot be written is one that is not used.
void keep_inflated(const std::string& source, std::span<const std::uint8_t> bytes) noexcept;

}  // namespace lockstep::data
