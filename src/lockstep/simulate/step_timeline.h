#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/simulate/jitter.h"
#include "lockstep/simulate/step_shape.h"

namespace lockstep::simulate {

/// One all-reduce of a simulated step, seconds from the start of the step.
struct BucketSpan {
  double ready_s = 0;  ///< on the slowest worker
  double begin_s = 0;
  double end_s = 0;
};

/// One step, seen from a worker of average speed. All parts but `communication_s` add up to it.
struct StepParts {
  double step_s = 0;
  double input_s = 0;
  double compute_s = 0;        ///< forward, backward and the rest
  double wait_s = 0;           ///< exposed: until the slowest worker had its last bucket ready
  double transfer_s = 0;       ///< exposed: after that
  double communication_s = 0;  ///< on the link in all, hidden or not
};

/// A step whose slowest worker takes `slowest` times as long to compute and whose average worker
/// `mean` times. All-reduces run one after the other, each from when its bucket is ready on all
/// workers; `all_reduce_s` has one time per bucket. Fills `spans` where it is given.
StepParts step_parts(const StepShape& shape, const std::vector<double>& all_reduce_s,
                     double slowest, double mean, std::vector<BucketSpan>* spans = nullptr);

/// The mean step over what the slowest worker may be.
StepParts mean_step(const StepShape& shape, const std::vector<double>& all_reduce_s,
                    const Jitter& jitter, const std::vector<WorkerClass>& classes,
                    std::uint64_t seed);

}  // namespace lockstep::simulate
