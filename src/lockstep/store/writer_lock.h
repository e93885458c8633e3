#pragma once

#include <cstdint>
#include <string>

namespace lockstep::store {

/// Held by the process that writes a run, for as long as it exists. The kernel releases it
/// however the process ends, so a run marked running that is not locked was killed. The
/// locks are single bytes of the empty file STORE-writers, at the run's id.
class WriterLock {
 public:
  /// Throws kData when the file cannot be made, kInternal when another writer has the run.
  WriterLock(const std::string& store_path, std::int64_t run_id);
  ~WriterLock();
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  int file_;
};

/// Whether a live process, on this host or on another that shares the folder, writes the run.
bool has_writer(const std::string& store_path, std::int64_t run_id);

}  // namespace lockstep::store
