#include "rank_connection.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "lockstep/comm/backends/backend_table.h"
#include "lockstep/comm/backends/c10d/nccl.h"
#include "lockstep/comm/backends/shm/shared_memory.h"
#include "lockstep/comm/backends/single.h"
#include "lockstep/comm/rendezvous/network_address.h"
#include "lockstep/comm/rendezvous/own_gpu.h"
#include "lockstep/record/worker_environment.h"

namespace lockstep::worker {
namespace {

using record::Backend;
namespace environment = record::worker_environment;

/// How long a rank may take to end by itself once the run is lost.
constexpr Seconds kGrace{5};

/// Ranks that inherited memory from the launcher need no session to use it.
bool uses_inherited_memory(const comm::Placement& place, const record::RunSpec& spec) {
  const bool nccl = spec.backend == Backend::kAuto && spec.device == "cuda" && comm::has_nccl();
  return place.shared_memory_fd && place.local_size == place.size && !nccl &&
         (spec.backend == Backend::kAuto || spec.backend == Backend::kSharedMemory);
}

}  // namespace

RankConnection::RankConnection(const comm::Placement& place, record::TrainRequest& request,
                               EventChannel& events)
    : place_(place), events_(events), clock_(std::make_unique<SystemClock>()) {
  const bool alone = place.size == 1 && request.spec.backend != Backend::kMpi;
  if (!alone && !uses_inherited_memory(place, request.spec)) open_session(request);
  try {
    communicator_ = connect(request);
    require_own_gpus();
  } catch (const Error& error) {
    fail(error);
  }
}

RankConnection::~RankConnection() = default;

/// NCCL's ranks compared theirs before they connected.
void RankConnection::require_own_gpus() {
  if (place_.gpu_id.empty() || communicator_->backend() == Backend::kNccl) return;
  struct Gpu {
    char name[128] = {};
  };
  Gpu own;
  comm::gpu_of_host(comm::host_name(), place_.gpu_id).copy(own.name, sizeof own.name - 1);
  std::vector<std::string> gpus;
  for (const Gpu& gpu : communicator_->gather_all(own)) gpus.emplace_back(gpu.name);
  comm::require_distinct_gpus(gpus);
}

void RankConnection::open_session(record::TrainRequest& request) {
  comm::SessionOptions options;
  const comm::GetEnvironment get = [](const char* name) -> const char* {
    return std::getenv(name);
  };
  options.place = place_;
  options.secret = comm::job_secret(get, place_.job);
  options.interface = request.interface;
  options.timeout = Seconds(request.timeout_s);
  options.silence = Seconds(request.heartbeat_s);
  options.grace = kGrace;
  options.spin = !request.spec.oversubscribed;
  options.on_failure = [this](const comm::RankFailure& failure) {
    reported_ = true;
    report_error(events_, place_.rank, failure.rank, failure.error);
  };
  session_ = std::make_unique<comm::Session>(std::move(options));
  request.spec.nodes = session_->hosts().hosts();
  request.spec.backend = comm::choose_backend(request.spec.backend.value_or(Backend::kAuto),
                                              request.spec.device == "cuda", *session_);
  if (request.spec.nodes > 1) {
    clock_ = std::make_unique<ShiftedClock>(session_->membership().clock_offset());
  }
}

std::unique_ptr<comm::Communicator> RankConnection::connect(const record::TrainRequest& request) {
  if (session_) return comm::backend_of(*request.spec.backend).make(*session_, {});
  if (place_.size == 1) return comm::make_single();
  return comm::make_shared_memory({.rank = place_.rank,
                                   .size = place_.size,
                                   .timeout = Seconds(request.timeout_s),
                                   .spin = Seconds(request.spec.oversubscribed ? 0 : 50e-6)},
                                  *place_.shared_memory_fd);
}

void RankConnection::leave() {
  communicator_.reset();
  if (session_) session_->membership().leave();
  session_.reset();
}

void RankConnection::fail(const Error& error) {
  if (communicator_) communicator_->abandon();
  if (session_) session_->membership().report(error);
  if (session_) session_->close();
  if (!reported_) report_error(events_, place_.rank, place_.rank, error);
  // Threads may be blocked in a library that waits for a rank that has exited.
  std::fflush(nullptr);
  ::_exit(exit_code(error.kind()));
}

void report_error(EventChannel& events, int own_rank, int failed_rank, const Error& error) {
  if (!events.has_pipe()) std::fputs(format_error(error).c_str(), stderr);
  // Where ranks share one output, rank 0 alone writes to it; through ssh each has its own.
  const bool own_output = events.has_pipe() || std::getenv(environment::kParentPipe) != nullptr;
  if (!own_output && own_rank != 0) return;
  try {
    events.send(record::WorkerError{failed_rank, std::string(kind_name(error.kind())), error.what(),
                                    error.hint()});
  } catch (const Error&) {
    // The launcher has exited.
  }
}

}  // namespace lockstep::worker
