#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "lockstep/predict/phases/contention.h"
#include "lockstep/predict/phases/phase_model.h"
#include "lockstep/record/calibration.h"
#include "lockstep/record/event.h"

namespace lockstep::predict {

/// A recorded run, of one worker or of several.
struct MeasuredRun {
  record::RunStarted started;
  std::vector<record::StepTimes> steps;  ///< of all ranks, by step
  std::vector<record::Utilisation> utilisation;
  /// Relative standard deviation of the speed of runs like this one; 0 when it is the only one.
  double run_spread = 0;
};

/// The workers to predict for.
struct RunPhasesQuestion {
  std::int64_t workers = 2;
  std::int64_t nodes = 1;  ///< hosts that the workers are spread over evenly
  /// Machines behind the hosts; 0 = as many as hosts. Hosts that are containers, namespaces or
  /// virtual machines of one machine share its cores.
  std::int64_t machines = 0;
  /// Ranks and hosts of the link's calibration; 0 = not known.
  std::int64_t calibrated_workers = 0;
  std::int64_t calibrated_nodes = 0;
  /// Slowdown of compute when all workers compute at once; 0 = by calibrations, else none.
  double contention = 0;
};

/// Arithmetic and memory rate of so many threads of the run's host; zeros where not measured.
using RateOfThreads = std::function<CalibratedRate(int threads)>;

struct RunPhasesPrediction {
  std::size_t steps = 0;  ///< that each rank measured after the warm-up
  SharedHost host;
  PhaseQuestion asked;
  Link link;  ///< as calibrated, or as the run measured it
  PhasePrediction step;
  std::optional<Estimate> epoch_s;  ///< where the length of an epoch is known
};

/// What workers that share machines and links do to each other, against those of the run.
struct Sharing {
  SharedHost host;
  Estimate contention{1, 1, 1};  ///< factor on compute
  SharedLink link;
  bool spare_core = true;  ///< that adds up gradients while the others compute
};

/// The steps of `run` are not used. Where hosts share machines, those of the run are taken to do so
/// as those of the question do.
Sharing sharing_of(const MeasuredRun& run, const RateOfThreads& rate,
                   const RunPhasesQuestion& question);

/// Step and epoch time on N workers from the phases of a run and a link. The warm-up that
/// analyze::StepBreakdownBuilder leaves out is left out here too. Throws kData without steps.
RunPhasesPrediction predict_run_phases(const MeasuredRun& run, const Link& link,
                                       const RateOfThreads& rate,
                                       const RunPhasesQuestion& question);

/// Of the calibrations that fit, the best for `workers` on `nodes` hosts that run what `run` did:
/// workers of one host need a link of that host, those of several hosts one between hosts; of those
/// the one of as many workers and of the back end that they use. Null where none fits.
const record::LinkCalibration* best_link(std::span<const record::LinkCalibration> links,
                                         const record::RunStarted& run, std::int64_t workers,
                                         std::int64_t nodes);

}  // namespace lockstep::predict
