#pragma once

/// The environment variables by which a launcher and its workers understand each other;
/// docs/internals/worker-process.md describes the whole contract. Each is named here once.
namespace lockstep::record::worker_environment {

/// Rank of the process, and number of ranks.
inline constexpr char kRank[] = "LOCKSTEP_RANK";
inline constexpr char kWorldSize[] = "LOCKSTEP_WORLD_SIZE";
/// The same among the ranks of this host.
inline constexpr char kLocalRank[] = "LOCKSTEP_LOCAL_RANK";
inline constexpr char kLocalSize[] = "LOCKSTEP_LOCAL_SIZE";
/// Number of hosts of the run.
inline constexpr char kNodes[] = "LOCKSTEP_NODES";
/// Descriptor of the memory file that all ranks of this host inherit.
inline constexpr char kSharedMemory[] = "LOCKSTEP_SHM_FD";
/// Descriptor of the pipe for record lines.
inline constexpr char kEventPipe[] = "LOCKSTEP_EVENT_FD";
/// Set where standard input is a pipe from the launcher, whose end ends the worker.
inline constexpr char kParentPipe[] = "LOCKSTEP_PARENT_PIPE";
/// HOST[:PORT] of the coordinator.
inline constexpr char kRendezvous[] = "LOCKSTEP_RENDEZVOUS";
/// The secret by which the ranks of a run authenticate each other.
inline constexpr char kSecret[] = "LOCKSTEP_SECRET";
/// Text that is different in every run, mixed into the secret.
inline constexpr char kJob[] = "LOCKSTEP_JOB";
/// Of a command that `lockstep run` or `study` starts, and of programs that use the library.
/// Number of ranks that such a program starts where nothing else started any.
inline constexpr char kWorkers[] = "LOCKSTEP_WORKERS";
/// How often it starts them again after a rank failed.
inline constexpr char kRestarts[] = "LOCKSTEP_RESTARTS";
/// Longest wait of a program of the library for another rank, seconds.
inline constexpr char kTimeout[] = "LOCKSTEP_TIMEOUT";
/// What carries the data of such a program.
inline constexpr char kBackend[] = "LOCKSTEP_BACKEND";
/// Folder in which each rank of a watched command writes its record.
inline constexpr char kWatchFolder[] = "LOCKSTEP_WATCH_DIR";

}  // namespace lockstep::record::worker_environment
