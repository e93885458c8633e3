#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/predict/scaling_prediction.h"
#include "lockstep/predict/series_table.h"

namespace lockstep::predict {

/// A number with its 90 % interval; low <= value <= high.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// The estimate of 1/x, of x scaled, ...: `f` must be monotone.
template <class F>
Estimate mapped(const Estimate& x, F f) {
  const double a = f(x.low);
  const double b = f(x.high);
  return {f(x.value), a < b ? a : b, a < b ? b : a};
}

/// What a user wants to know of a worker count. Absent where the table does not say enough.
struct JobPrediction {
  ScalingPrediction scaling;
  Estimate metric;                     ///< in the unit of the table's metric
  std::optional<Estimate> epoch_s;     ///< one pass over the data
  std::optional<Estimate> total_s;     ///< all epochs
  std::optional<Estimate> throughput;  ///< examples/s of all workers
  std::optional<Estimate> speedup;     ///< against `baseline_workers`, same data in less time
  std::optional<Estimate> efficiency;  ///< speedup / (workers / baseline_workers)
  double baseline_workers = 0;         ///< smallest measured count
  std::vector<std::string> unknowns;   ///< why something above is absent, one sentence each
};

struct JobQuestion {
  double workers = 1;
  int nodes = 0;                           ///< 0 = not known
  std::optional<std::int64_t> epochs{};    ///< default: what the table says
  std::optional<std::int64_t> examples{};  ///< default: what the table says
};

/// Throws as predict_rate() does.
JobPrediction predict_job(const TableSeries& table, const JobQuestion& question,
                          const Prior& prior = shipped_prior());

}  // namespace lockstep::predict
