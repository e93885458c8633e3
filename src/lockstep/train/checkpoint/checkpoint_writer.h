#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "lockstep/base/system/ordered_thread.h"
#include "lockstep/record/event.h"
#include "lockstep/train/checkpoint/checkpoint.h"

namespace lockstep::train {

/// Writes checkpoints while training continues: what is handed over is copied, which takes as long
/// as copying memory takes; the rest happens on a thread. Training never waits for the disk: where
/// that is slower than checkpoints come, those that still wait for it are given up for newer ones,
/// one taken between two epochs only for another such. So at most three copies exist at a time.
class CheckpointWriter {
 public:
  /// Puts a checkpoint on disk and returns its path. Called on the thread.
  using Put = std::function<std::string(const Checkpoint&)>;
  explicit CheckpointWriter(Put put) : put_(std::move(put)) {}
  /// Into that folder, which it claims.
  explicit CheckpointWriter(CheckpointFolder& folder)
      : CheckpointWriter([&folder](const Checkpoint& one) { return folder.write(one); }) {
    folder.claim();
  }

  /// Copies and returns. Throws kData when an earlier one could not be written.
  void write(Checkpoint checkpoint);
  /// Those on disk since the last call. Does not block.
  std::vector<record::CheckpointWritten> take_written();
  /// Blocks until all are on disk; throws as write().
  void finish();

 private:
  void write_next();

  Put put_;
  std::mutex mutex_;
  std::deque<Checkpoint> waiting_;  ///< oldest first
  std::vector<record::CheckpointWritten> written_;
  OrderedThread thread_;  // last: it uses the rest
};

}  // namespace lockstep::train
