#pragma once

#include <signal.h>

#include <vector>

#include "lockstep/base/system/file_descriptor.h"

namespace lockstep::launch {

/// Turns the signals that request this process to stop (SIGINT, SIGTERM, SIGHUP), and those about
/// the end of children, into something to poll. They are blocked while it lives and have their
/// former effect afterwards. Signals that were ignored when the process started stay ignored. One
/// at a time, in a program whose threads start later.
class SignalInbox {
 public:
  SignalInbox();
  ~SignalInbox();
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  /// Readable when a signal came.
  int fd() const { return fd_.get(); }
  /// The number of requests to stop since the last call; signals about children are discarded.
  int take_stop_requests();
  /// Whether one of those taken was SIGHUP: the terminal was closed.
  bool hung_up() const { return hung_up_; }

 private:
  sigset_t before_;
  bool hung_up_ = false;
  FileDescriptor fd_;
};

}  // namespace lockstep::launch
