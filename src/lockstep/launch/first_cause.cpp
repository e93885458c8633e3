#include "lockstep/launch/first_cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string_view>

#include "lockstep/base/system/memory_errors.h"

namespace lockstep::launch {
namespace {

/// Exit code of a worker that ended because it was asked to.
constexpr int kInterruptedCode = 130;

struct Candidate {
  /// Lower comes first: a refusal, a cause, a worker that left too early, a complaint about a peer.
  int order = 0;
  Nanoseconds at = 0;
  Failure failure;
};

bool ended_by_request(const ExitStatus& status) {
  return status.signal == SIGINT || status.code == kInterruptedCode;
}

/// Errors of these kinds concern what the user gave, not the worker, and keep their exit codes.
bool concerns_the_user(ErrorKind kind) {
  return kind == ErrorKind::kUsage || kind == ErrorKind::kEnvironment || kind == ErrorKind::kData;
}

std::string title_of(const WorkerOutcome& worker, std::size_t world_size) {
  return worker.title.empty() ? worker_title(worker.rank, world_size) : worker.title;
}

/// Whether lack of memory ended the worker: by its own error, or that of a library that could
/// not allocate threw or ended the process.
bool ran_out_of_memory(const WorkerOutcome& worker) {
  if (worker.error) {
    const ErrorKind kind = kind_from_name(worker.error->kind);
    return kind == ErrorKind::kMemory ||
           (kind == ErrorKind::kInternal && reports_lack_of_memory(worker.error->message));
  }
  return std::any_of(worker.last_lines.begin(), worker.last_lines.end(), reports_lack_of_memory);
}

Candidate out_of_memory(const WorkerOutcome& worker, std::size_t world_size) {
  return {0,
          worker.error ? worker.error_at : worker.ended_at,
          {worker.rank, false,
           Error(ErrorKind::kMemory, title_of(worker, world_size) + " failed: out of memory",
                 "use a smaller batch, fewer workers or more memory")}};
}

Candidate from_error(const WorkerOutcome& worker, std::size_t world_size) {
  const record::WorkerError& sent = *worker.error;
  const ErrorKind kind = kind_from_name(sent.kind);
  if (ran_out_of_memory(worker)) return out_of_memory(worker, world_size);
  const bool symptom = kind == ErrorKind::kPeer;
  if (concerns_the_user(kind)) {
    return {0, worker.error_at, {sent.rank, false, Error(kind, sent.message, sent.hint)}};
  }
  // A launcher such as mpirun represents all its ranks.
  const std::string who = worker.title.empty() ? worker_title(worker.rank, world_size)
                                               : fmt::format("rank {}", sent.rank);
  const std::string message = fmt::format("{} failed: {}", who, sent.message);
  return {symptom ? 2 : 0,
          worker.error_at,
          {sent.rank, symptom, Error(ErrorKind::kWorker, message, sent.hint)}};
}

Candidate from_end(const WorkerOutcome& worker, std::size_t world_size, int order,
                   const std::string& what, const std::string& hint = "") {
  return {order,
          worker.ended_at,
          {worker.rank, false,
           Error(ErrorKind::kWorker, title_of(worker, world_size) + " " + what, hint)}};
}

std::string signal_hint(int number) {
  if (number == SIGKILL) {
    return "unless someone killed it, the machine may have run out of memory: see dmesg";
  }
  if (number == SIGILL) {
    return "a library used an instruction this CPU lacks: unset OPENBLAS_CORETYPE if you set it";
  }
  return "";
}

std::optional<Candidate> candidate_of(const WorkerOutcome& worker, std::size_t world_size,
                                      bool stopping) {
  if (worker.refusal) return Candidate{-1, 0, {worker.rank, false, *worker.refusal}};
  if (worker.error && kind_from_name(worker.error->kind) != ErrorKind::kInterrupted) {
    return from_error(worker, world_size);
  }
  if (!worker.status || worker.told_to_end) return std::nullopt;
  const ExitStatus& status = *worker.status;
  // mpirun and srun have special codes for jobs that were asked to end.
  const bool launcher = !worker.title.empty();
  if (stopping && (launcher || ended_by_request(status))) return std::nullopt;
  if (!status.clean() && ran_out_of_memory(worker)) {
    return out_of_memory(worker, world_size);
  }
  if (status.signal != 0) {
    return from_end(
        worker, world_size, 0,
        fmt::format("was killed by signal {} ({})", status.signal, ::strsignal(status.signal)),
        signal_hint(status.signal));
  }
  if (status.code != 0 && !(worker.closed_record && status.code == kInterruptedCode)) {
    return from_end(worker, world_size, 0, fmt::format("ended with exit code {}", status.code),
                    launcher ? "see its output above for the cause" : "");
  }
  if (worker.rank == 0 && !worker.closed_record) {
    return from_end(worker, world_size, 0, "ended without completing the record of the run");
  }
  return std::nullopt;
}

/// When peers complain, a worker that left with exit code 0 before them is what they complain
/// about.
std::optional<Candidate> early_leaver(const WorkerOutcome& worker, std::size_t world_size,
                                      Nanoseconds first_complaint) {
  if (worker.error || !worker.status || !worker.status->clean() || worker.closed_record ||
      worker.ended_at > first_complaint) {
    return std::nullopt;
  }
  return from_end(worker, world_size, 1, "ended while the others were still training");
}

}  // namespace

std::string worker_title(int rank, std::size_t world_size) {
  return fmt::format("worker {} (rank {} of {})", rank, rank, world_size);
}

std::optional<Failure> first_cause(std::span<const WorkerOutcome> workers, bool stopping) {
  std::vector<Candidate> found;
  for (const WorkerOutcome& worker : workers) {
    if (auto candidate = candidate_of(worker, workers.size(), stopping)) {
      found.push_back(std::move(*candidate));
    }
  }
  if (found.empty()) return std::nullopt;
  const auto before = [](const Candidate& a, const Candidate& b) {
    return std::pair(a.order, a.at) < std::pair(b.order, b.at);
  };
  auto first = std::min_element(found.begin(), found.end(), before);
  if (!first->failure.symptom) return std::move(first->failure);
  for (const WorkerOutcome& worker : workers) {
    if (auto candidate = early_leaver(worker, workers.size(), first->at)) {
      return std::move(candidate->failure);
    }
  }
  return std::move(first->failure);
}

}  // namespace lockstep::launch
