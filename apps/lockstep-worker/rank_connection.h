#pragma once

#include <memory>

#include "event_channel.h"
#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/comm/communicator.h"
#include "lockstep/comm/placement.h"
#include "lockstep/comm/session.h"
#include "lockstep/record/train_request.h"

namespace lockstep::worker {

/// How this rank is tied to the others, from its start to its end. Ranks of one host that
/// `lockstep` started share memory and need nothing else; all others meet through a session.
class RankConnection {
 public:
  /// Blocks until all ranks are there. `request` is completed by what turns out: nodes, back end.
  RankConnection(const comm::Placement& place, record::TrainRequest& request, EventChannel& events);
  ~RankConnection();

  comm::Communicator& communicator() { return *communicator_; }
  /// Monotonic time of rank 0's host.
  const Clock& clock() const { return *clock_; }

  /// All is done; lets the others know.
  void leave();
  /// Ends the process with the exit code of `error`, once those who must know of it do.
  [[noreturn]] void fail(const Error& error);

 private:
  void open_session(record::TrainRequest& request);
  std::unique_ptr<comm::Communicator> connect(const record::TrainRequest& request);

  comm::Placement place_;
  EventChannel& events_;
  std::atomic<bool> told_{false};  ///< what ended the run is in the record
  std::unique_ptr<comm::Session> session_;
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<comm::Communicator> communicator_;
};

/// Tells of an error whoever listens: the launcher, or the record and a person. Never throws.
void tell(EventChannel& events, int own_rank, int failed_rank, const Error& error);

}  // namespace lockstep::worker
