#pragma once

#include <optional>

#include "lockstep/predict/scaling/scaling_prediction.h"
#include "lockstep/predict/series_table.h"

namespace lockstep::predict {

/// What is known of the communication of a step: the gradients that each worker sends, and the
/// link that they cross.
struct KnownTraffic {
  double gradient_bytes = 0;
  double latency_s = 0;
  double bytes_per_s = 0;
};

/// One count of a series whose phases were measured there: its step without the communication that
/// nothing hid is what one worker takes, so that the series has two counts. Nothing where there are
/// more counts, no phases, or no workers that communicate.
std::optional<ScalingSeries> with_one_worker(const TableSeries& table);

/// Why `with_one_worker` was used, for the reasons of a prediction.
std::string phases_reason(const TableSeries& table);

/// Moves and bounds a prediction by what the link can carry. No step is shorter than its
/// communication. From one worker alone half of the communication is taken as exposed, and the
/// interval reaches from none of it to all. `examples` as in epoch_seconds(). Leaves measured
/// counts, other than weak scaling and tables without a batch as they are.
void apply_traffic(ScalingPrediction& prediction, const TableSeries& table,
                   const KnownTraffic& traffic, const std::optional<std::int64_t>& examples);

}  // namespace lockstep::predict
