#include "event_channel.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "lockstep/base/error.h"

namespace lockstep::worker {

void EventChannel::send(const record::Event& event) const {
  const std::string line = record::to_line(event) + "\n";
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t wrote = ::write(fd_, line.data() + at, line.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) throw Error(ErrorKind::kPeer, "whoever started this worker has gone");
    at += static_cast<std::size_t>(wrote);
  }
}

EventChannel event_channel_from_environment() {
  const char* text = std::getenv("LOCKSTEP_EVENT_FD");
  return EventChannel(text == nullptr ? STDOUT_FILENO : std::atoi(text));
}

}  // namespace lockstep::worker
