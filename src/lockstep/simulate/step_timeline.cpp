#include "lockstep/simulate/step_timeline.h"

#include <algorithm>

namespace lockstep::simulate {
namespace {

/// Points of the average over the slowest worker: enough for four digits.
constexpr int kPoints = 400;

double mean_slowdown(const std::vector<WorkerClass>& classes) {
  double workers = 0;
  double sum = 0;
  for (const WorkerClass& one : classes) {
    workers += one.workers;
    sum += one.workers * one.slowdown;
  }
  return sum / workers;
}

/// When the last all-reduce is over.
double exchange_end(const StepShape& shape, const std::vector<double>& all_reduce_s,
                    double compute_end, double slowest, std::vector<BucketSpan>* spans) {
  const double backward = slowest * shape.backward_s;
  double end = 0;
  for (std::size_t k = 0; k < shape.buckets.size(); ++k) {
    const double left = shape.overlap ? (1 - shape.buckets[k].ready) * backward : 0;
    const double ready = compute_end - left;
    const double begin = std::max(end, ready);
    end = begin + all_reduce_s[k];
    if (spans != nullptr) spans->push_back({ready, begin, end});
  }
  return end;
}

double busy_s(const StepShape& shape) {
  return shape.accumulate * (shape.forward_s + shape.backward_s);
}

/// The loader works during the whole step: it is waited for as much less as the step takes longer
/// than that of the measured worker alone.
void wait_for_loader(StepParts& parts, const StepShape& shape, double mean) {
  const double longer = (mean - 1) * busy_s(shape) + parts.wait_s + parts.transfer_s;
  parts.input_s = std::clamp(shape.input_s - longer, 0.0, shape.input_s);
  parts.step_s = parts.input_s + parts.compute_s + parts.wait_s + parts.transfer_s;
}

}  // namespace

StepParts step_parts(const StepShape& shape, const std::vector<double>& all_reduce_s,
                     double slowest, double mean, std::vector<BucketSpan>* spans) {
  StepParts parts;
  for (const double seconds : all_reduce_s) parts.communication_s += seconds;
  const double busy = busy_s(shape);
  parts.compute_s = mean * busy + shape.other_s;
  parts.wait_s = (slowest - mean) * busy;
  if (shape.local_steps > 1) {
    // Nothing hides the exchange of parameters, which comes once in so many steps.
    parts.communication_s /= static_cast<double>(shape.local_steps);
    parts.transfer_s = parts.communication_s;
  } else {
    const double compute_end = slowest * busy;
    const double end = exchange_end(shape, all_reduce_s, compute_end, slowest, spans);
    const double at_least = std::max(end - compute_end, 0.0);
    parts.transfer_s = at_least + (1 - shape.hidden) * (parts.communication_s - at_least);
  }
  wait_for_loader(parts, shape, mean);
  return parts;
}

StepParts mean_step(const StepShape& shape, const std::vector<double>& all_reduce_s,
                    const Jitter& jitter, const std::vector<WorkerClass>& classes,
                    std::uint64_t seed) {
  const double mean = mean_slowdown(classes);
  const bool alone = classes.size() == 1 && classes.front().workers == 1;
  const Jitter per_exchange = jitter.averaged(shape.local_steps, seed);
  // Nobody to wait for: the mean step of one worker is that of its mean compute time.
  const int points = jitter.none() || alone ? 1 : kPoints;
  StepParts sum;
  for (int i = 0; i < points; ++i) {
    const double u = (i + 0.5) / points;
    const double slowest = alone ? mean : slowest_factor(per_exchange, classes, u);
    const StepParts one = step_parts(shape, all_reduce_s, slowest, mean);
    sum.compute_s += one.compute_s / points;
    sum.wait_s += one.wait_s / points;
    sum.transfer_s += one.transfer_s / points;
    sum.communication_s += one.communication_s / points;
  }
  // Batches that wait in its queue even out what differs from step to step.
  wait_for_loader(sum, shape, mean);
  return sum;
}

}  // namespace lockstep::simulate
