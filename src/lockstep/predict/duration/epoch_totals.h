#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/predict/duration/early_total.h"
#include "lockstep/predict/estimate.h"

namespace lockstep::predict {

/// A run from its start to its end.
struct WholeRun {
  double workers = 0;
  std::int64_t epochs = 0;
  double seconds = 0;
  /// One epoch of it, where that was measured too: what is left is start-up and validation.
  std::optional<double> epoch_s{};
  double spread = 0;  ///< relative, of repeats of such runs; 0 where none was repeated
};

struct TotalQuestion {
  double workers = 1;
  std::int64_t epochs = 1;
  std::optional<Estimate> epoch_s{};  ///< one epoch at `workers`, measured or predicted
  bool first_epoch_only = false;      ///< epoch_s is the first epoch of runs that had no second
  FirstEpoch where = FirstEpoch::kUnknown;
  /// What a run does beyond its epochs recurs with each of them (validation); else once (start-up).
  bool overhead_grows = false;
};

struct TotalTime {
  Estimate seconds;
  bool measured = false;
  bool from_epochs = false;  ///< as many times the epoch of the question, and start-up
  std::string because;       ///< what the total is made of and why its interval is as wide as it is
};

/// The time of a whole run: as measured; else on the line through runs of other lengths on as many
/// workers; else epochs plus what whole runs took beyond theirs; else epochs alone. Nothing when
/// neither such runs nor an epoch are known.
std::optional<TotalTime> predict_total(const std::vector<WholeRun>& runs,
                                       const TotalQuestion& question);

}  // namespace lockstep::predict
