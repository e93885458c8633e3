#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lockstep/record/event.h"

namespace lockstep::store {

/// The place of a run in a study; all empty for a run on its own.
struct RunLabel {
  std::string study;
  std::string cell;  ///< the configuration, as the study names it
  int repeat = 0;
};

/// Writes one run into a store as its events come. Each event is committed before write() returns,
/// so a run that is killed, or whose writer is, keeps all that was written. Many processes may
/// write into one store, each its own runs. Not thread-safe.
class RunWriter {
 public:
  /// Makes the store if there is none. Throws kData when it cannot be written, is not ours or is
  /// newer.
  explicit RunWriter(const std::string& store_path, RunLabel label = {});
  ~RunWriter();
  RunWriter(RunWriter&&) noexcept;
  RunWriter& operator=(RunWriter&&) noexcept;

  /// RunStarted first; WorkerErrors that come earlier are kept until then, any other event before
  /// it throws kInternal. A run without RunEnded is shown as killed once the writer has exited.
  /// Throws kData when the disk is full or the store cannot be written; the run may continue and be
  /// written to again.
  void write(const record::Event& event);

  /// 0 before RunStarted.
  std::int64_t run_id() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::store
