#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/record/choices.h"

namespace lockstep::train {

/// A named tensor of a network: parameter or buffer.
struct NamedTensor {
  std::string name;
  torch::Tensor tensor;
};

/// Where in a run a checkpoint was taken, and what the epoch had summed up until then.
struct Position {
  int epoch = 1;           ///< the epoch to continue with, from 1
  std::int64_t step = 0;   ///< steps of that epoch already done
  std::int64_t total = 0;  ///< steps of the run already done
  double loss_sum = 0;
  double correct = 0;
  std::int64_t examples = 0;
};

/// What a checkpoint is of; one of another run is refused.
struct CheckpointIdentity {
  std::string recipe;
  std::int64_t parameters = 0;
  std::uint64_t seed = 0;
  std::int64_t global_batch = 0;
  record::Optimizer optimizer = record::Optimizer::kSgd;
};

/// All that is needed to continue bit for bit. `model` has parameters and buffers under the
/// network's names, `optimizer` its state as "velocity/NAME" for each parameter, `figures` single
/// numbers.
struct Checkpoint {
  CheckpointIdentity identity;
  Position position;
  std::vector<NamedTensor> model;
  std::vector<NamedTensor> optimizer;
  std::map<std::string, double> figures;
};

/// Checkpoints of one run in one folder. Each is a file that Python's torch.load reads (keys
/// `model`, `optimizer`) and a manifest with its size and digest, which is put in place last: a
/// checkpoint without a matching manifest is ignored, so a write that a power failure interrupted
/// leaves nothing behind. The newest two are kept, and the newest that was
/// taken between two epochs, from which a run can continue with another global batch.
class CheckpointFolder {
 public:
  /// Makes the folder. Throws kData when it cannot be written to.
  explicit CheckpointFolder(std::string path);

  /// From now on only this object writes here: a rank that was stopped or disconnected, and comes
  /// back while the run continues without it, no longer can.
  void claim();

  /// Returns the path of the file. Blocks until it is on disk. Throws kData on a full disk, or when
  /// the folder was claimed by another after this one; the checkpoints before are then untouched.
  std::string write(const Checkpoint& checkpoint);

  /// The newest whole one that `fits`; nothing when there is none. Broken ones are passed over with
  /// a warning.
  std::optional<Checkpoint> read_newest(const std::function<bool(const Checkpoint&)>& fits =
                                            [](const Checkpoint&) { return true; }) const;

 private:
  void remove_old() const;
  void check_claim() const;

  std::string path_;
  std::string claim_;  ///< identifies the writer of the folder; empty = not claimed
};

/// Copies the tensors of `from` into those of `to` with the same name. Throws kData, naming the
/// first difference, unless both have the same names and shapes.
void copy_tensors(const std::vector<NamedTensor>& from, const std::vector<NamedTensor>& to);

}  // namespace lockstep::train
