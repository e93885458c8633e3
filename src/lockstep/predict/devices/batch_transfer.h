#pragma once

#include <vector>

#include "lockstep/predict/series_table.h"

namespace lockstep::predict {

/// The series that `batch_per_worker` would have, one for each set of weak-scaling series that
/// differ in their batch alone: at each worker count the step time is c0 + c1 b (fixed costs and
/// communication, and compute that grows with the batch), fitted to the batches measured there.
/// Counts measured at fewer than two batches are left out. The misfit becomes the series' spread,
/// and grows with the distance from the measured batches. Throws kData with what to run when no
/// count has two batches.
std::vector<TableSeries> series_at_batch(const std::vector<TableSeries>& measured,
                                         std::int64_t batch_per_worker);

}  // namespace lockstep::predict
