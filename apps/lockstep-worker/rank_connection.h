#pragma once

#include <memory>

#include "event_channel.h"
#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/comm/communicator.h"
#include "lockstep/comm/rendezvous/placement.h"
#include "lockstep/comm/rendezvous/session.h"
#include "lockstep/record/train_request.h"

namespace lockstep::worker {

/// The connection of this rank to the others, from its start to its end. Ranks of one host that
/// `lockstep` started share memory and need nothing else; all others meet through a session.
class RankConnection {
 public:
  /// Blocks until all ranks have joined. Completes `request` with the nodes and the back end.
  RankConnection(const comm::Placement& place, record::TrainRequest& request, EventChannel& events);
  ~RankConnection();

  comm::Communicator& communicator() { return *communicator_; }
  /// Monotonic time of rank 0's host.
  const Clock& clock() const { return *clock_; }

  /// Reports to the others that all is done.
  void leave();
  /// Reports `error` and ends the process with its exit code.
  [[noreturn]] void fail(const Error& error);

 private:
  void open_session(record::TrainRequest& request);
  std::unique_ptr<comm::Communicator> connect(const record::TrainRequest& request);
  void require_own_gpus();

  comm::Placement place_;
  EventChannel& events_;
  std::atomic<bool> reported_{false};  ///< the cause that ended the run is in the record
  std::unique_ptr<comm::Session> session_;
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<comm::Communicator> communicator_;
};

/// Sends an error to the launcher, or to the record and standard error. Never throws.
void report_error(EventChannel& events, int own_rank, int failed_rank, const Error& error);

}  // namespace lockstep::worker
