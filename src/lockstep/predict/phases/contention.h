#pragma once

#include "lockstep/predict/estimate.h"

namespace lockstep::predict {

/// Arithmetic and memory rate of so many threads, as a calibration measured them; 0 = not measured.
struct CalibratedRate {
  double flops = 0;
  double bytes_per_s = 0;
};

/// N workers on the cores of one host, seen from a run of one worker.
struct SharedHost {
  int cores = 0;  ///< of the host; 0 = not known
  int workers = 2;
  int threads_alone = 1;   ///< of the worker that ran alone
  int threads_each = 1;    ///< of each of the N
  double cores_used = 0;   ///< processor time / time of the worker alone; 0 = not known
  CalibratedRate alone{};  ///< of `threads_alone`
  CalibratedRate
      together{};  ///< of all threads of the N workers, or of all cores if these are fewer
  double memory_bound = 0.5;  ///< part of the step that is bound by memory bandwidth
};

/// How many times as long a step's compute takes on each of N workers at once as on the one alone.
/// The N share arithmetic units (fewer threads each, common clocks) and memory bandwidth; the
/// value weighs the two by what the step is bound by, the interval covers both. Never below what
/// processor time on all cores allows. Where each has fewer threads than the one alone had, next to
/// nothing is known: small networks do not gain from threads, or lose by them, large ones gain all.
Estimate contention(const SharedHost& host);

}  // namespace lockstep::predict
