#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "lockstep/collect/run_digest.h"
#include "lockstep/store/store.h"

namespace lockstep::collect {

/// Sums up the steps of a run that is done and keeps that in the store, where they are many: its
/// page then opens without reading them. Throws kData as the store does.
void keep_digest(const std::string& store_path, std::int64_t run);

/// Digests of stored runs. Reading steps is what the page of a large store takes its time for, so
/// those of runs that are done are kept for the next page: here, and of long runs in the store.
/// Thread-safe.
class RunDigests {
 public:
  /// In the order of `runs`. Reads every step of each run that is not cached yet, several runs
  /// at a time. Throws kData as the store does.
  std::vector<RunDigest> of(const std::string& store_path, std::span<const store::RunSummary> runs);

 private:
  using Digest = std::shared_ptr<const RunDigest>;
  /// Distinguishes a run from one of the same number in a store that took the place of the old one.
  struct Identity {
    std::int64_t id = 0;
    std::int64_t started_wall_ns = 0;
    std::int64_t ended = 0;  ///< its total time, ns

    auto operator<=>(const Identity&) const = default;
  };
  static constexpr std::size_t kMost = 2000;

  static Identity identity_of(const store::RunSummary& run);
  Digest find(const store::RunSummary& run);
  void keep(const store::RunSummary& run, Digest digest);

  std::mutex mutex_;
  std::map<Identity, Digest> kept_;
};

}  // namespace lockstep::collect
