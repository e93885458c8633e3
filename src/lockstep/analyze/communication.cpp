#include "lockstep/analyze/communication.h"

#include "lockstep/record/choices.h"

namespace lockstep::analyze {
namespace {

std::optional<TimeSplit> measured_split(const SpeedupPoint& point) {
  const Configuration& c = point.configuration;
  const auto step = c.value("step_time");
  const auto sync = c.value("sync_time");
  if (!step || !sync) return std::nullopt;
  TimeSplit split;
  split.configuration = c;
  split.origin = Origin::kMeasured;
  split.per_step = true;
  split.total_s = *step;
  split.communication_s = *sync;
  split.wait_s = c.value("comm_wait_time");
  split.transfer_s = c.value("comm_transfer_time");
  split.input_s = c.value("input_wait_time");
  split.other_s = c.value("other_time");
  if (c.workers == 1) {
    // What the phases of communication show then is the cost of timing them.
    if (split.other_s) *split.other_s += split.communication_s;
    split.communication_s = 0;
    if (split.wait_s) split.wait_s = 0;
    if (split.transfer_s) split.transfer_s = 0;
  }
  split.compute_s = c.value("compute_time")
                        .value_or(*step - split.communication_s - split.input_s.value_or(0) -
                                  split.other_s.value_or(0));
  return split;
}

/// Printed times rarely have more than three digits.
constexpr double kRounding = 0.005;

/// Gradients that are sent during backward: the measured time is only what backward did not hide.
bool hides_communication(const TimeSplit& split) {
  return split.origin == Origin::kMeasured &&
         split.configuration.strategy != record::name_of(record::Strategy::kBlocking);
}

/// The point's baseline when that is one worker: the same fixed batch.
const SpeedupPoint* on_one_worker(const SpeedupGroup& group, const SpeedupPoint& point) {
  for (const SpeedupPoint& other : group.points) {
    if (other.configuration.workers != 1 || !other.time_s) continue;
    if (!unlike(other.configuration, point.configuration, group.scaling)) return &other;
  }
  return nullptr;
}

/// What one worker takes for the examples of the point: a sampler may fill up the last batch.
double time_on_one(const SpeedupPoint& one, const SpeedupPoint& point) {
  const auto examples = one.configuration.examples;
  const auto others = point.configuration.examples;
  if (!examples || !others || *examples == *others) return *one.time_s;
  return *one.time_s * static_cast<double>(*others) / static_cast<double>(*examples);
}

}  // namespace

double derived_communication(double time_one, double time_n, std::int64_t workers) {
  return time_n - time_one / static_cast<double>(workers);
}

double ring_bytes(double bytes, std::int64_t workers) {
  const double n = static_cast<double>(workers);
  return 2 * (n - 1) / n * bytes;
}

double algorithm_bandwidth(double bytes, double seconds) {
  return bytes / seconds;
}

double bus_bandwidth(double bytes, double seconds, std::int64_t workers) {
  return ring_bytes(bytes, workers) / seconds;
}

std::vector<TimeSplit> time_splits(const SpeedupGroup& group) {
  std::vector<TimeSplit> splits;
  for (const SpeedupPoint& point : group.points) {
    if (auto split = measured_split(point)) {
      splits.push_back(std::move(*split));
      continue;
    }
    const auto workers = point.configuration.workers;
    if (!workers || *workers < 2 || !point.time_s) continue;
    const SpeedupPoint* one = on_one_worker(group, point);
    if (one == nullptr) continue;
    TimeSplit split;
    split.configuration = point.configuration;
    split.total_s = *point.time_s;
    const double alone = time_on_one(*one, point);
    split.compute_s = alone / static_cast<double>(*workers);
    split.communication_s = derived_communication(alone, *point.time_s, *workers);
    // Less than nothing by as little as times are rounded to is nothing.
    const bool rounded = split.communication_s < 0 && split.communication_share() > -kRounding;
    if (rounded) split.communication_s = 0;
    splits.push_back(std::move(split));
  }
  return splits;
}

std::optional<double> LinkSpeeds::at(std::int64_t workers) const {
  const auto found = by_workers.find(workers);
  const double speed = found == by_workers.end() ? any : found->second;
  return speed > 0 ? std::optional(speed) : std::nullopt;
}

std::vector<AllReduce> all_reduces(std::span<const TimeSplit> splits, const LinkSpeeds& links) {
  std::vector<AllReduce> results;
  for (const TimeSplit& split : splits) {
    const Configuration& c = split.configuration;
    const auto steps = c.steps_per_epoch();
    if (!c.parameters || !c.workers || *c.workers < 2) continue;
    if (!split.per_step && !steps) continue;
    // Where the wait is known apart, only the transfer is the link's.
    double seconds = split.transfer_s.value_or(split.communication_s);
    if (!split.per_step) seconds /= static_cast<double>(*steps);
    if (seconds <= 0) continue;
    AllReduce result;
    result.configuration = c;
    result.origin = split.origin;
    result.bytes = gradient_bytes(*c.parameters);
    result.ring_bytes = ring_bytes(result.bytes, *c.workers);
    result.seconds = seconds;
    result.steps_per_epoch = steps.value_or(0);
    results.push_back(std::move(result));
    if (hides_communication(split)) continue;
    AllReduce& known = results.back();
    known.algbw = algorithm_bandwidth(known.bytes, seconds);
    known.busbw = bus_bandwidth(known.bytes, seconds, *c.workers);
    if (const auto link = links.at(*c.workers)) known.utilisation = *known.busbw / *link;
  }
  return results;
}

}  // namespace lockstep::analyze
