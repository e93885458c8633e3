#include "lockstep/simulate/run/step_trace.h"

#include <vector>

#include "lockstep/measure/trace_writer.h"
#include "lockstep/record/step_times.h"
#include "lockstep/simulate/drawn_step.h"

namespace lockstep::simulate {
namespace {

using record::Phase;

constexpr std::size_t kTracedRanks = 16;

std::int64_t to_ns(double seconds) {
  return static_cast<std::int64_t>(seconds * 1e9);
}

record::StepTimes step_times(const StepShape& shape, const DrawnStep& drawn,
                             const DrawnRank& rank) {
  record::StepTimes step;
  step.rank = static_cast<std::int32_t>(rank.rank);
  step[Phase::kInputWait] = drawn.input_s;
  step[Phase::kForward] = rank.factor * shape.accumulate * shape.forward_s;
  step[Phase::kBackward] = rank.factor * shape.accumulate * shape.backward_s;
  step[Phase::kWait] = rank.wait_s;
  step[Phase::kTransfer] = drawn.transfer_s;
  step[Phase::kOptimizer] = shape.other_s;
  for (const double seconds : step.phase_s) step.total_s += seconds;
  step.ready_ns = to_ns(drawn.input_s + step[Phase::kForward] + step[Phase::kBackward]);
  return step;
}

}  // namespace

void write_step_trace(const std::string& path, const Scenario& scenario,
                      const SimulatedPoint& point) {
  const StepShape& shape = point.shape;
  const DrawnStep drawn = draw_step(scenario, point, kTracedRanks);
  std::vector<record::StepTimes> steps;
  std::vector<measure::BucketMark> marks;
  for (const DrawnRank& rank : drawn.ranks) {
    steps.push_back(step_times(shape, drawn, rank));
    for (std::size_t k = 0; k < shape.buckets.size(); ++k) {
      const double left = shape.overlap ? (1 - shape.buckets[k].ready) * shape.backward_s : 0;
      marks.push_back({steps.back().rank, static_cast<std::int32_t>(k), 0,
                       steps.back().ready_ns - to_ns(rank.factor * left)});
    }
  }
  measure::TraceWriter writer(path, static_cast<int>(drawn.ranks.back().rank + 1));
  writer.write(steps, marks);
  writer.finish();
}

}  // namespace lockstep::simulate
