#include "lockstep/library/job_state.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <cstdlib>

#include "lockstep/comm/backends/backend_table.h"
#include "lockstep/comm/backends/single.h"
#include "lockstep/comm/rendezvous/job_secret.h"
#include "lockstep/comm/rendezvous/own_gpu.h"
#include "lockstep/measure/core_map.h"
#include "lockstep/train/sync/device.h"

namespace lockstep::library {
namespace {

using record::Backend;

/// How long a process may go on once the job is lost: it may save what it has.
constexpr Seconds kGrace{10};
/// A rank without a heartbeat for that long has hung. Heartbeats come from a thread of their own.
constexpr Seconds kSilence{30};
/// Under which key a rank that leaves the job leaves its number.
constexpr const char* kLeft = "left";
/// How long the loss of a peer waits for the cause that the coordinator sends to all ranks.
constexpr Seconds kCause{5};
/// How long the coordinator may take to answer.
constexpr Seconds kAnswer{0.2};

bool has_core_per_rank(const comm::Placement& place) {
  return place.local_size <= static_cast<int>(measure::usable_cores().size()) ||
         measure::bound_to_cores();
}

/// Whether this rank has a GPU; then its number and id are set. Ranks that find none left would
/// train on the CPU, and the others would wait for them with another back end.
bool choose_gpu(comm::Placement& place) {
  const int visible = train::Device::visible_gpus();
  if (visible == 0) return false;
  if (visible > 1 && place.local_size > visible) {
    throw Error(
        ErrorKind::kEnvironment,
        fmt::format("{} ranks on this host, but only {} GPUs are visible", place.local_size,
                    visible),
        "start one rank per GPU, or hide the GPUs with CUDA_VISIBLE_DEVICES= to use the CPU");
  }
  place.gpu = comm::own_gpu(place.local_rank, visible);
  train::Device::make_current(place.gpu);
  place.gpu_id =
      comm::gpu_id(train::Device::pci_id_of(place.gpu), std::getenv("CUDA_VISIBLE_DEVICES"));
  return true;
}

comm::SessionOptions session_options(const comm::Placement& place, const JoinOptions& options,
                                     Backend backend) {
  const comm::GetEnvironment get = [](const char* name) -> const char* {
    return std::getenv(name);
  };
  comm::SessionOptions session;
  session.place = place;
  session.place.mpi = place.mpi && backend == Backend::kMpi;
  session.secret = comm::job_secret(get, place.job);
  session.timeout = Seconds(options.timeout.count());
  session.silence = kSilence;
  session.grace = kGrace;
  session.spin = has_core_per_rank(place);
  return session;
}

}  // namespace

JobState::JobState(comm::Placement place, const JoinOptions& options)
    : place_(std::move(place)),
      backend_(record::parse_choice<Backend>("JoinOptions::backend", options.backend)),
      on_gpu_(choose_gpu(place_)),
      exceptions_(std::uncaught_exceptions()),
      clock_(std::make_unique<SystemClock>()),
      watch_(place_.rank, place_.size) {
  if (place_.size > 1) {
    session_ = std::make_unique<comm::Session>(session_options(place_, options, backend_));
    backend_ = comm::choose_backend(backend_, on_gpu_, *session_);
  }
  communicator_ = connect();
  device_sum_.emplace(*communicator_);
}

torch::Device JobState::device() const {
  if (!on_gpu_) return torch::kCPU;
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(place_.gpu)};
}

JobState::~JobState() {
  watch_.close();
  const bool unwinding = std::uncaught_exceptions() > exceptions_;
  if (unwinding && !failed_) {
    report(Error(ErrorKind::kWorker, fmt::format("rank {} ended with an exception", place_.rank),
                 "see its output for the cause"));
  }
  if (unwinding || failed_) return;
  // Some back ends agree with the other ranks before they let go of their connections.
  others_.clear();
  communicator_.reset();
  if (session_) leave();
}

/// Rank 0 runs the coordinator, so it leaves last: others may still have work that needs no rank.
void JobState::leave() noexcept {
  comm::Membership& membership = session_->membership();
  const auto key = [](int rank) { return fmt::format("left/{}", rank); };
  try {
    membership.put(kLeft, std::to_string(place_.rank));
    if (place_.rank != 0) membership.put(key(place_.rank), "1");
    for (int rank = 1; place_.rank == 0 && rank < place_.size; ++rank) {
      membership.get(key(rank), session_->options().timeout);
    }
  } catch (const Error&) {
    // A rank failed after this one was done.
  }
  membership.leave();
}

std::optional<std::string> JobState::rank_that_left() {
  try {
    return session_->membership().get(kLeft, kAnswer);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::unique_ptr<comm::Communicator> JobState::connect() {
  if (!session_) return comm::make_single();
  return collective([&] { return comm::backend_of(backend_).make(*session_, {}); });
}

comm::Communicator& JobState::new_communicator() {
  others_.push_back(connect());
  return *others_.back();
}

void JobState::report(const Error& error) noexcept {
  if (failed_.exchange(true)) return;
  if (communicator_) communicator_->abandon();
  for (const auto& other : others_) other->abandon();
  if (session_) session_->membership().report(error);
}

void JobState::fail(const Error& error) {
  report(error);
  throw error;
}

/// A rank that waited for the whole timeout has the cause of a loss. Others rarely do when they
/// notice one: the coordinator sends it to all ranks.
void JobState::fail_with_cause(const Error& error) {
  if (!session_ || failed_ || error.kind() != ErrorKind::kPeer) fail(error);
  // Programs that use the library have no such option.
  const bool timed_out = error.hint().find("--timeout") != std::string::npos;
  const Nanoseconds until =
      clock_->monotonic() + (timed_out ? 0 : static_cast<Nanoseconds>(kCause.count() * 1e9));
  do {
    if (const auto cause = session_->membership().trouble()) fail(*cause);
    if (const auto rank = rank_that_left()) {
      fail(Error(
          ErrorKind::kPeer, fmt::format("rank {} ended its job while others still train", *rank),
          "every rank must run the same steps and collective calls; use join() if ranks have "
          "unequal numbers of batches"));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (clock_->monotonic() < until);
  if (!timed_out) fail(error);
  fail(Error(ErrorKind::kPeer, error.what(),
             "see its output; raise LOCKSTEP_TIMEOUT if it was only slow, and use join() if it has "
             "fewer batches"));
}

void JobState::close() noexcept {
  if (session_) session_->close();
}

}  // namespace lockstep::library
