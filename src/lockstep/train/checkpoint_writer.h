#pragma once

#include <mutex>
#include <vector>

#include "lockstep/comm/ordered_thread.h"
#include "lockstep/record/event.h"
#include "lockstep/train/checkpoint.h"

namespace lockstep::train {

/// Writes checkpoints while training goes on: what is handed over is copied, which takes as long as
/// copying memory takes; the rest happens on a thread. One at a time: a second one that comes while
/// the first is still being written waits for it.
class CheckpointWriter {
 public:
  /// Claims the folder.
  explicit CheckpointWriter(CheckpointFolder& folder) : folder_(folder) { folder_.claim(); }

  /// Copies and returns. Throws kData when an earlier one could not be written.
  void write(Checkpoint checkpoint);
  /// Those on disk since the last call. Does not block.
  std::vector<record::CheckpointWritten> take_written();
  /// Blocks until all are on disk; throws as write().
  void finish();

 private:
  CheckpointFolder& folder_;
  std::mutex mutex_;
  std::vector<record::CheckpointWritten> written_;
  comm::OrderedThread thread_;
};

}  // namespace lockstep::train
