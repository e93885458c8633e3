#include "rank_connection.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "lockstep/comm/c10d/gloo.h"
#include "lockstep/comm/c10d/nccl.h"
#include "lockstep/comm/mpi/mpi_module.h"
#include "lockstep/comm/shared_memory.h"
#include "lockstep/comm/single.h"

namespace lockstep::worker {
namespace {

/// How long a rank may take to end by itself once the run is lost.
constexpr Seconds kGrace{5};

bool shares_given_memory(const comm::Placement& place, const std::string& backend) {
  return place.shared_memory_fd && place.local_size == place.size &&
         (backend == "auto" || backend == "shm");
}

}  // namespace

RankConnection::RankConnection(const comm::Placement& place, record::TrainRequest& request,
                               EventChannel& events)
    : place_(place), events_(events), clock_(std::make_unique<SystemClock>()) {
  if (request.spec.backend == "auto" && request.spec.device == "cuda" && place.size > 1 &&
      comm::has_nccl()) {
    request.spec.backend = "nccl";
  }
  const bool alone = place.size == 1 && request.spec.backend != "mpi";
  if (!alone && !shares_given_memory(place, request.spec.backend)) open_session(request);
  try {
    communicator_ = connect(request);
  } catch (const Error& error) {
    fail(error);
  }
}

RankConnection::~RankConnection() = default;

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
    told_ = true;
    tell(events_, place_.rank, failure.rank, failure.error);
  };
  session_ = std::make_unique<comm::Session>(std::move(options));
  request.spec.nodes = session_->hosts().hosts();
  request.spec.backend = session_->resolve(request.spec.backend);
  if (request.spec.nodes > 1) {
    clock_ = std::make_unique<ShiftedClock>(session_->membership().clock_offset());
  }
}

std::unique_ptr<comm::Communicator> RankConnection::connect(const record::TrainRequest& request) {
  const Seconds timeout(request.timeout_s);
  if (!session_ && place_.size == 1) return comm::make_single();
  if (!session_) {
    return comm::make_shared_memory({.fd = *place_.shared_memory_fd,
                                     .rank = place_.rank,
                                     .size = place_.size,
                                     .timeout = timeout,
                                     .spin = Seconds(request.spec.oversubscribed ? 0 : 50e-6)});
  }
  if (request.spec.backend == "gloo") {
    return comm::make_gloo({.rank = place_.rank,
                            .size = place_.size,
                            .address = session_->address(),
                            .secret = session_->options().secret,
                            .timeout = timeout},
                           session_->membership());
  }
  if (request.spec.backend == "nccl") {
    return comm::make_nccl(
        {.rank = place_.rank, .size = place_.size, .gpu = place_.local_rank, .timeout = timeout},
        session_->membership());
  }
  if (request.spec.backend == "mpi") {
    return comm::make_mpi({.rank = place_.rank, .size = place_.size, .timeout = timeout},
                          session_->membership());
  }
  return session_->make(request.spec.backend);
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
  if (!told_) tell(events_, place_.rank, place_.rank, error);
  // Threads may be stuck in a library that waits for a rank that is gone.
  std::fflush(nullptr);
  ::_exit(exit_code(error.kind()));
}

void tell(EventChannel& events, int own_rank, int failed_rank, const Error& error) {
  if (!events.has_pipe()) std::fputs(format_error(error).c_str(), stderr);
  // Where ranks share one output, rank 0 alone writes to it; through ssh each has its own.
  const bool own_output = events.has_pipe() || std::getenv("LOCKSTEP_STDIN_LEASH") != nullptr;
  if (!own_output && own_rank != 0) return;
  try {
    events.send(record::WorkerError{failed_rank, std::string(kind_name(error.kind())), error.what(),
                                    error.hint()});
  } catch (const Error&) {
    // Nobody listens any more.
  }
}

}  // namespace lockstep::worker
