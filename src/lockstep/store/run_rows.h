#pragma once

#include <cstdint>

#include "lockstep/record/event.h"
#include "lockstep/store/database.h"
#include "lockstep/store/run_writer.h"

namespace lockstep::store {

/// The rows of a run, written from its events. Each call needs an open transaction; none commits.

/// Gives the id of the new run, whose status is "running".
std::int64_t insert_run(Database& database, const RunLabel& label, const record::RunStarted& event);
/// What was learnt of a run after its start replaces what it began with; its strategy, which no
/// foreign program states, stays.
void update_run(Database& database, std::int64_t run, const record::RunStarted& event);
void insert_epoch(Database& database, std::int64_t run, const record::EpochResult& event);
void insert_utilisation(Database& database, std::int64_t run,
                        const record::UtilisationBlock& block);

inline constexpr std::string_view kInsertStep =
    "INSERT OR REPLACE INTO steps(run_id, step, rank, epoch, examples, start_ns,"
    " ready_after_ns, total_ns, input_wait_ns, host_to_device_ns, forward_ns, backward_ns,"
    " comm_wait_ns, comm_transfer_ns, optimizer_ns, other_ns)"
    " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
/// `insert` is kInsertStep, prepared once: steps come in their thousands.
void insert_steps(Statement& insert, std::int64_t run, const record::StepBlock& block);

void insert_error(Database& database, std::int64_t run, const record::WorkerError& event);

void end_run(Database& database, std::int64_t run, const record::RunEnded& event);

}  // namespace lockstep::store
