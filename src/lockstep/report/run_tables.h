#pragma once

#include <span>

#include "lockstep/report/render/table.h"
#include "lockstep/store/store.h"

namespace lockstep::report {

/// One row a run, as `lockstep runs` lists them.
Table runs_table(std::span<const store::RunSummary> runs);

/// All that determined a run: settings, machine, build. One row per fact.
Table run_facts_table(const store::StoredRun& run);

Table epochs_table(std::span<const record::EpochResult> epochs);

/// "gradient noise scale 157 examples (95 % interval 107 to 312), B = 128"; empty where none was
/// measured.
std::string noise_scale_sentence(const record::EpochResult& epoch, std::int64_t global_batch);

/// How busy each rank was over the run: one row per rank, means weighted by time.
Table utilisation_table(std::span<const record::Utilisation> samples);

/// The errors of the workers; no rows when there were none.
Table errors_table(std::span<const record::WorkerError> errors);

}  // namespace lockstep::report
