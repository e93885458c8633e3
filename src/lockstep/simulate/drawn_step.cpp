#include "lockstep/simulate/drawn_step.h"

#include <algorithm>
#include <numeric>

#include "lockstep/base/rng.h"

namespace lockstep::simulate {
namespace {

std::vector<double> drawn_factors(const Scenario& scenario, std::int64_t workers) {
  std::vector<double> factors;
  Rng rng(scenario.cluster.seed, 0x7ace);
  for (const WorkerClass& one : worker_classes(scenario, workers)) {
    for (double i = 0; i < one.workers; ++i) {
      const double u = std::clamp(rng.uniform(), 1e-9, 1 - 1e-9);
      factors.push_back(slowest_factor(scenario.jitter, {{1, one.slowdown}}, u));
    }
  }
  return factors;
}

/// Where overlap hides less than it could, exchange takes as much longer as is exposed of it.
void stretch_until(std::vector<BucketSpan>& buckets, double end_s) {
  if (buckets.empty()) return;
  const double begin = buckets.front().begin_s;
  const double factor = (end_s - begin) / (buckets.back().end_s - begin);
  for (BucketSpan& span : buckets) {
    span.begin_s = begin + factor * (span.begin_s - begin);
    span.end_s = begin + factor * (span.end_s - begin);
  }
}

}  // namespace

DrawnStep draw_step(const Scenario& scenario, const SimulatedPoint& point, std::size_t most_ranks) {
  const StepShape& shape = point.shape;
  const std::vector<double> factors = drawn_factors(scenario, point.workers);
  const auto last =
      static_cast<std::size_t>(std::max_element(factors.begin(), factors.end()) - factors.begin());
  const double slowest = factors[last];
  const double busy = shape.accumulate * (shape.forward_s + shape.backward_s);
  DrawnStep step;
  for (std::size_t rank = 0; rank < factors.size(); ++rank) {
    if (rank >= most_ranks && rank != last) continue;
    if (rank == last) step.slowest = step.ranks.size();
    step.ranks.push_back(
        {static_cast<std::int64_t>(rank), factors[rank], (slowest - factors[rank]) * busy});
  }
  const double mean =
      std::accumulate(factors.begin(), factors.end(), 0.0) / static_cast<double>(factors.size());
  const StepParts parts = step_parts(shape, point.all_reduce_s, slowest, mean, &step.buckets);
  step.input_s = parts.input_s;
  step.transfer_s = parts.transfer_s;
  if (point.workers > 1) stretch_until(step.buckets, slowest * busy + step.transfer_s);
  for (BucketSpan& span : step.buckets) {
    for (double* at : {&span.ready_s, &span.begin_s, &span.end_s}) *at += step.input_s;
  }
  return step;
}

}  // namespace lockstep::simulate
