#include "simulate_trace.h"

#include <algorithm>
#include <vector>

#include "lockstep/base/rng.h"
#include "lockstep/measure/trace_writer.h"

namespace lockstep::cli {
namespace {

using record::Phase;

constexpr std::size_t kTracedRanks = 16;

/// Compute time of every rank relative to the measured worker.
std::vector<double> drawn_factors(const simulate::Scenario& scenario, std::int64_t workers) {
  std::vector<double> factors;
  Rng rng(scenario.cluster.seed, 0x7ace);
  for (const simulate::WorkerClass& one : simulate::worker_classes(scenario, workers)) {
    for (double i = 0; i < one.workers; ++i) {
      const double u = std::clamp(rng.uniform(), 1e-9, 1 - 1e-9);
      factors.push_back(simulate::slowest_factor(scenario.jitter, {{1, one.slowdown}}, u));
    }
  }
  return factors;
}

std::int64_t to_ns(double seconds) {
  return static_cast<std::int64_t>(seconds * 1e9);
}

record::StepTimes rank_step(const simulate::StepShape& shape, double factor, double slowest,
                            double transfer_s) {
  record::StepTimes step;
  const double busy = shape.accumulate * (shape.forward_s + shape.backward_s);
  step[Phase::kForward] = factor * shape.accumulate * shape.forward_s;
  step[Phase::kBackward] = factor * shape.accumulate * shape.backward_s;
  step[Phase::kWait] = (slowest - factor) * busy;
  step[Phase::kTransfer] = transfer_s;
  step[Phase::kOptimizer] = shape.other_s;
  for (const double seconds : step.phase_s) step.total_s += seconds;
  step.ready_ns = to_ns(factor * busy);
  return step;
}

}  // namespace

void write_simulated_trace(const std::string& path, const simulate::Scenario& scenario,
                           const simulate::SimulatedPoint& point) {
  const simulate::StepShape& shape = scenario.shape;
  const std::vector<double> factors = drawn_factors(scenario, point.workers);
  const auto slowest = std::max_element(factors.begin(), factors.end());
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < std::min(factors.size(), kTracedRanks); ++i) ranks.push_back(i);
  const auto last = static_cast<std::size_t>(slowest - factors.begin());
  if (last >= kTracedRanks) ranks.push_back(last);

  const double transfer_s =
      simulate::step_parts(shape, point.all_reduce_s, *slowest, *slowest).transfer_s;
  std::vector<record::StepTimes> steps;
  std::vector<measure::BucketMark> marks;
  for (const std::size_t rank : ranks) {
    steps.push_back(rank_step(shape, factors[rank], *slowest, transfer_s));
    steps.back().rank = static_cast<std::int32_t>(rank);
    for (std::size_t k = 0; k < shape.buckets.size(); ++k) {
      const double left = shape.overlap ? 1 - shape.buckets[k].ready : 0;
      const double busy = shape.accumulate * (shape.forward_s + shape.backward_s);
      marks.push_back({steps.back().rank, static_cast<std::int32_t>(k), 0,
                       to_ns(factors[rank] * (busy - left * shape.backward_s))});
    }
  }
  measure::TraceWriter writer(path, static_cast<int>(std::max(last + 1, ranks.size())));
  writer.write(steps, marks);
  writer.finish();
}

}  // namespace lockstep::cli
