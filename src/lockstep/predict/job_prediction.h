#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/predict/estimate.h"
#include "lockstep/predict/phases/known_traffic.h"
#include "lockstep/predict/scaling/scaling_prediction.h"
#include "lockstep/predict/series_table.h"

namespace lockstep::predict {

/// What a step on a worker count consists of, where phases were measured.
struct StepParts {
  Estimate step_s;
  double compute_s = 0;     ///< as measured at the largest count
  double input_wait_s = 0;  ///< as measured there
  double other_s = 0;       ///< as measured there
  Estimate exposed_s;       ///< communication that nothing hides: what is left of the step
};

/// What a user wants to know of a worker count. Absent where the table does not have enough.
struct JobPrediction {
  ScalingPrediction scaling;
  Estimate metric;                     ///< in the unit of the table's metric
  std::optional<Estimate> epoch_s;     ///< one pass over the data
  std::optional<Estimate> total_s;     ///< all epochs
  bool derived = false;                ///< the count was measured, but at other batches
  bool total_measured = false;         ///< a run of as many epochs and workers was measured
  bool total_derived = false;          ///< total_s is as many of the epochs that were measured
  std::int64_t epochs = 0;             ///< that total_s is of; 0 = not known
  std::optional<Estimate> throughput;  ///< examples/s of all workers
  std::optional<Estimate> speedup;     ///< against `baseline_workers`, same data in less time
  std::optional<Estimate> efficiency;  ///< speedup / (workers / baseline_workers)
  std::optional<StepParts> parts;      ///< weak scaling only: compute stays with the batch
  double baseline_workers = 0;         ///< smallest measured count
  std::vector<std::string> unknowns;   ///< why something above is absent, one sentence each
};

struct JobQuestion {
  double workers = 1;
  int nodes = 0;     ///< 0 = not known
  double batch = 0;  ///< per worker, where both batches change; 0 = as at the last count
  std::optional<std::int64_t> epochs{};    ///< default: the table's
  std::optional<std::int64_t> examples{};  ///< default: the table's
  std::optional<KnownTraffic> traffic{};   ///< gradients and link, where they are known
  /// Of the whole count in the unit of the series, known from elsewhere: nothing is predicted then.
  std::optional<Estimate> rate{};
};

/// Throws as predict_rate() does.
JobPrediction predict_job(const TableSeries& table, const JobQuestion& question,
                          const Prior& prior = shipped_prior());

}  // namespace lockstep::predict
