#pragma once

#include <cstdint>
#include <string>

namespace lockstep::store {

/// Whether a file is the record of a run of ours, as `lockstep-worker train --record FILE` writes
/// it.
bool is_run_record(const std::string& path);

/// What became of a record.
struct StoredRecord {
  std::int64_t run = 0;
  bool fresh = true;   ///< false when the store had it already
  bool ended = false;  ///< the record contains its end
};

/// Writes the run into the store, under `study` when that is not empty. A record without an end is
/// of a run that was killed, and shows as such. Throws kData with the line that is not a record.
StoredRecord store_run_record(const std::string& path, const std::string& store_path,
                              const std::string& study);

}  // namespace lockstep::store
