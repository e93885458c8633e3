#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "lockstep/base/clock.h"
#include "lockstep/store/store.h"

namespace lockstep::serve {

/// When the files of a store last changed; reading it costs no query.
std::string store_stamp(const std::string& store_path);

/// Follows the runs of a store that others write to. Thread-safe. A store that is not there yet has
/// no runs.
class RunWatch {
 public:
  RunWatch(std::string store_path, const Clock& clock);
  ~RunWatch();

  /// Every run and study as JSON: {"store", "runs", "studies"}. Throws kData when the store cannot
  /// be read.
  std::string snapshot();

  /// Runs that changed since the last call, and the studies, in the form of snapshot(), with
  /// "removed" ids; nothing when nothing changed.
  std::optional<std::string> changes();

 private:
  struct Known;

  nlohmann::json run_json(store::Store& store, const store::RunSummary& run, bool with_samples);

  const std::string store_path_;
  const Clock& clock_;
  std::mutex mutex_;
  std::map<std::int64_t, Known> known_;
  std::string stamp_;
  Nanoseconds looked_at_ = 0;
  std::string studies_;
};

}  // namespace lockstep::serve
