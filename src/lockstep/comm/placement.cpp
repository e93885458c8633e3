#include "lockstep/comm/placement.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "lockstep/base/error.h"

namespace lockstep::comm {
namespace {

std::optional<int> read_number(const GetEnvironment& get, const char* name) {
  const char* text = get(name);
  if (text == nullptr) return std::nullopt;
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, problem] = std::from_chars(text, end, value);
  if (problem != std::errc() || stop != end || value < 0) {
    throw Error(ErrorKind::kUsage, fmt::format("{}='{}' is not a whole number", name, text),
                "start workers through lockstep train");
  }
  return value;
}

}  // namespace

Placement placement_from_environment(const GetEnvironment& get) {
  Placement place;
  place.rank = read_number(get, "LOCKSTEP_RANK").value_or(0);
  place.size = read_number(get, "LOCKSTEP_WORLD_SIZE").value_or(1);
  place.local_rank = read_number(get, "LOCKSTEP_LOCAL_RANK").value_or(place.rank);
  place.local_size = read_number(get, "LOCKSTEP_LOCAL_SIZE").value_or(place.size);
  place.shared_memory_fd = read_number(get, "LOCKSTEP_SHM_FD");
  if (const char* dir = get("LOCKSTEP_RENDEZVOUS_DIR")) place.rendezvous_dir = dir;
  if (place.size < 1 || place.rank >= place.size || place.local_size < 1 ||
      place.local_size > place.size || place.local_rank >= place.local_size) {
    throw Error(ErrorKind::kUsage,
                fmt::format("rank {} of {} (local {} of {}) cannot be", place.rank, place.size,
                            place.local_rank, place.local_size),
                "start workers through lockstep train");
  }
  return place;
}

}  // namespace lockstep::comm
