#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lockstep/predict/estimate.h"

namespace lockstep::simulate {

/// A job on workers that fail, at exponentially distributed times.
struct FailingJob {
  double work_s = 0;        ///< how long it takes when nothing fails, without checkpoints
  std::int64_t hosts = 1;   ///< all its workers run on so many hosts; a failure takes one of them
  double host_mttf_s = 0;   ///< mean time to a failure of one host
  double checkpoint_s = 0;  ///< C: training stands still for so long at each checkpoint
  double restart_s = 0;  ///< R: from a failure, or a host that comes back, until training goes on
  double repair_s = 0;   ///< until a failed host is replaced; 0 = a spare stands by
  /// Training goes on with at least so many hosts; equal to `hosts` = it waits for the repair.
  std::int64_t least_hosts = 1;
  /// Speed relative to all hosts when 0, 1, 2, ... of them are missing; beyond its end the last.
  std::vector<double> speed{1.0};

  double mttf_s() const { return host_mttf_s / static_cast<double>(hosts); }
};

/// Daly's interval between checkpoints: sqrt(2 C M) (1 + x/3 + x^2/9) - C with x = sqrt(C/(2 M)),
/// and M where checkpoints take longer than 2 M. (J. T. Daly, FGCS 22, 2006.)
double daly_interval_s(const FailingJob& job);

/// Daly's expected share of useful time at an interval: failures may also hit restarts. For a job
/// whose spares stand by.
double daly_goodput(const FailingJob& job, double interval_s);

/// A job simulated many times.
struct JobOutcome {
  double interval_s = 0;      ///< of training between checkpoints
  predict::Estimate total_s;  ///< mean, and what 5 % and 95 % of the jobs take at most
  double goodput = 0;         ///< work_s / mean total
  double failures = 0;        ///< mean number
  double host_seconds = 0;    ///< mean, of hosts that were paid for
  bool finished = true;       ///< false: failures come faster than work gets done
};

/// Deterministic by seed.
JobOutcome simulate_job(const FailingJob& job, double interval_s, std::uint64_t seed,
                        int repetitions = 200);

/// The interval with the best simulated goodput, within a factor of 8 around Daly's; none where the
/// job finishes with none of them.
std::optional<double> best_interval_s(const FailingJob& job, std::uint64_t seed);

}  // namespace lockstep::simulate
