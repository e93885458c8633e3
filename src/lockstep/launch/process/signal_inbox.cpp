#include "lockstep/launch/process/signal_inbox.h"

#include <fmt/format.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <cstring>

#include "lockstep/base/error.h"

namespace lockstep::launch {
namespace {

bool is_ignored(int number) {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

SignalInbox::SignalInbox() {
  sigset_t watched;
  ::sigemptyset(&watched);
  ::sigaddset(&watched, SIGCHLD);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    if (!is_ignored(number)) ::sigaddset(&watched, number);
  }
  fd_ = FileDescriptor(::signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd_) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("cannot watch for signals: {}", std::strerror(errno)));
  }
  ::sigprocmask(SIG_BLOCK, &watched, &before_);
}

SignalInbox::~SignalInbox() {
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int SignalInbox::take_stop_requests() {
  int stops = 0;
  signalfd_siginfo info;
  while (::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo != SIGCHLD) ++stops;
    if (info.ssi_signo == SIGHUP) hung_up_ = true;
  }
  return stops;
}

}  // namespace lockstep::launch
