#pragma once

#include "lockstep/record/event.h"

namespace lockstep::worker {

/// Where a worker's events go: the pipe its launcher gave it, or standard output for a worker started
/// by hand.
class EventChannel {
 public:
  explicit EventChannel(int fd) : fd_(fd) {}

  /// Blocks while the pipe is full. Throws kPeer when nobody reads it any more.
  void send(const record::Event& event) const;

 private:
  int fd_;
};

/// Of LOCKSTEP_EVENT_FD; standard output without it.
EventChannel event_channel_from_environment();

}  // namespace lockstep::worker
