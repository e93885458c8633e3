#include "lockstep/predict/phases/known_traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/base/units.h"
#include "lockstep/predict/phases/phase_model.h"

namespace lockstep::predict {
namespace {

/// Of the communication, where nothing shows how much backward hides: half-way between all of it
/// hidden and none. On 713 published pairs of one worker and more inside a host it is right to
/// 5.1 % (median) where the usual loss alone is to 6.6 %.
constexpr double kExposedPart = 0.5;
/// Of the usual loss of other series, beside the communication that is known.
constexpr double kOtherLoss = 0.5;

/// The measured phases of the only count; nothing where they are not a whole step.
const MeasuredPhases* phases_of_only_count(const TableSeries& table) {
  if (table.series.points.size() != 1 || table.scaling != Scaling::kWeak) return nullptr;
  const double workers = table.series.points.front().workers;
  for (const MeasuredPhases& one : table.phases) {
    if (one.workers == workers && workers > 1 && one.exposed_s >= 0 && one.compute_s > 0) {
      return &one;
    }
  }
  return nullptr;
}

double step_of(const MeasuredPhases& phases) {
  return phases.compute_s + phases.input_wait_s + phases.exposed_s + phases.other_s;
}

/// Seconds of a step on N workers at a rate are this x N / rate.
std::optional<double> work_of_step(const TableSeries& table,
                                   const std::optional<std::int64_t>& examples) {
  const double batch = table.batch_per_worker.value_or(0);
  switch (table.metric) {
    case Metric::kStepTime:
      return 1;
    case Metric::kThroughput:
      if (batch > 0) return batch;
      break;
    case Metric::kEpochTime:
      if (batch > 0 && examples) return batch / static_cast<double>(*examples);
      break;
    case Metric::kTotalTime:
    case Metric::kOtherRate:
      break;
  }
  return std::nullopt;
}

/// Half of what is communicated beyond the measured count is exposed.
void move_by_communication(ScalingPrediction& prediction, const ScalingPoint& only, double step_s,
                           double communication_s) {
  const double perfect = only.rate * prediction.workers / only.workers;
  const double ratio = communication_s / step_s;
  const double loss = kOtherLoss * std::log(prediction.rate / perfect);
  const double low = kOtherLoss * std::log(prediction.low / prediction.rate);
  prediction.rate = perfect * std::exp(loss) / (1 + kExposedPart * ratio);
  prediction.low = std::min(prediction.low, perfect * std::exp(loss + low) / (1 + ratio));
  prediction.high = std::max(prediction.high, prediction.rate);
}

}  // namespace

std::optional<ScalingSeries> with_one_worker(const TableSeries& table) {
  const MeasuredPhases* phases = phases_of_only_count(table);
  if (phases == nullptr) return std::nullopt;
  ScalingSeries series = table.series;
  ScalingPoint one = series.points.front();
  const double alone = (step_of(*phases) - phases->exposed_s) / step_of(*phases);
  one.rate = one.rate / one.workers / alone;
  one.workers = 1;
  if (one.nodes > 0) one.nodes = 1;
  if (!std::isfinite(one.rate) || one.rate <= 0) return std::nullopt;
  series.points.insert(series.points.begin(), one);
  return series;
}

std::string phases_reason(const TableSeries& table) {
  const MeasuredPhases& phases = *phases_of_only_count(table);
  return fmt::format(
      "only one worker count was measured: the step of one worker is assumed to be that of {:g} "
      "workers without its "
      "exposed communication ({:.1f} % of the step)",
      phases.workers, 100 * phases.exposed_s / step_of(phases));
}

void apply_traffic(ScalingPrediction& prediction, const TableSeries& table,
                   const KnownTraffic& traffic, const std::optional<std::int64_t>& examples) {
  const ScalingPoint& last = table.series.points.back();
  const auto work = work_of_step(table, examples);
  if (prediction.measured || table.scaling != Scaling::kWeak || !work ||
      prediction.workers <= last.workers || !(traffic.bytes_per_s > 0)) {
    return;
  }
  const Link link{traffic.latency_s, traffic.bytes_per_s, 0};
  const double communication_s = link.all_reduce_s(traffic.gradient_bytes, prediction.workers);
  const std::string takes =
      fmt::format("{} of gradients over the stated link take {} per step",
                  format_bytes(Bytes{static_cast<std::uint64_t>(traffic.gradient_bytes)}),
                  format_seconds(Seconds(communication_s)));
  if (table.series.points.size() == 1 && last.workers == 1) {
    move_by_communication(prediction, last, *work / last.rate, communication_s);
    prediction.width.insert(
        prediction.width.begin(),
        takes + ": half of it is assumed to be exposed; the interval covers none to all of it");
  }
  if (!(communication_s > 0)) return;
  const double highest = *work * prediction.workers / communication_s;
  if (prediction.high > highest) {
    prediction.high = highest;
    prediction.rate = std::min(prediction.rate, highest);
    prediction.low = std::min(prediction.low, highest);
    prediction.width.push_back(takes + ", and no step is shorter than that");
  }
}

}  // namespace lockstep::predict
