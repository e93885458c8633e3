#pragma once

#include <cstdint>

#include "lockstep/base/clock.h"
#include "lockstep/base/terminal/console.h"
#include "lockstep/launch/process/signal_inbox.h"
#include "lockstep/record/machine.h"
#include "lockstep/record/train_request.h"

namespace lockstep::study {

/// Sets the batch per worker of `spec` so that its workers share `global_batch`: b = B / (N A).
/// Throws kUsage when they cannot share it equally.
void share_global_batch(record::RunSpec& spec, std::int64_t global_batch);

/// Fills in the workers of a request for --workers auto, their threads unless these are given, and
/// the trials that decided. On CPUs, each division of the cores that is worth it trains for a few
/// seconds, with the request's batch per worker or, where it is not 0, the same `global_batch`;
/// rates and choice are printed on stderr; `machine` is this host. On GPUs it is one worker per
/// GPU, without trials. Nothing is stored or written to files. Throws kInterrupted when the user
/// asked for the end, kUsage in a process that is one of several tasks of mpirun or srun, and what
/// ends a trial, except for a lack of memory while another trial has enough.
void choose_workers(record::TrainRequest& request, std::int64_t global_batch,
                    const record::Machine& machine, Console& console, launch::SignalInbox& signals,
                    const Clock& clock);

}  // namespace lockstep::study
