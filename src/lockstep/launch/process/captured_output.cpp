#include "lockstep/launch/process/captured_output.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

namespace lockstep::launch {
namespace {

constexpr std::size_t kLongestText = 1024 * 1024;
constexpr int kCapturePollMs = 20;

void read_available(FileDescriptor& stream, std::string& text) {
  std::array<char, 16 * 1024> buffer;
  while (stream) {
    const ssize_t got = ::read(stream.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;
    if (got == 0) stream.reset();
    const std::size_t room = kLongestText - text.size();
    text.append(buffer.data(), std::min(room, static_cast<std::size_t>(got)));
  }
}

}  // namespace

CapturedOutput run_captured(const ProcessSpec& spec, Seconds timeout, const Clock& clock) {
  CapturedOutput captured;
  ChildProcess child = ChildProcess::start(spec);
  const Nanoseconds deadline = clock.monotonic() + static_cast<Nanoseconds>(timeout.count() * 1e9);
  while (true) {
    const auto status = child.poll();
    read_available(child.output(), captured.output);
    read_available(child.errors(), captured.errors);
    if (status) {
      captured.status = *status;
      return captured;
    }
    if (clock.monotonic() > deadline && !captured.timed_out) {
      captured.timed_out = true;
      child.signal(SIGKILL);
    }
    // Negative descriptors, those of closed streams, are passed over by poll.
    std::array<pollfd, 2> wanted{
        {{child.output().get(), POLLIN, 0}, {child.errors().get(), POLLIN, 0}}};
    ::poll(wanted.data(), wanted.size(), kCapturePollMs);
  }
}

}  // namespace lockstep::launch
