#include "lockstep/launch/process/streamed_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <set>
#include <vector>

#include "lockstep/launch/process/line_buffer.h"

namespace lockstep::launch {
namespace {

constexpr std::size_t kLongestLine = 64 * 1024;
constexpr int kStreamPollMs = 100;

std::set<pid_t> children() {
  std::ifstream list(fmt::format("/proc/self/task/{}/children", ::getpid()));
  std::set<pid_t> pids;
  for (pid_t pid = 0; list >> pid;) pids.insert(pid);
  return pids;
}

/// Adopts what the program leaves behind, and ends it. A launcher may put its workers into sessions
/// of their own, out of reach of its process group; if it is killed, they keep running.
class OrphanReaper {
 public:
  OrphanReaper() : before_(children()) { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~OrphanReaper() {
    // Each one's children come here in turn. Bounded, should one of them breed faster.
    for (int round = 0; round < 100; ++round) {
      bool any = false;
      for (const pid_t pid : children()) {
        if (before_.contains(pid)) continue;
        any = true;
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
      }
      if (!any) break;
    }
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  }
  OrphanReaper(const OrphanReaper&) = delete;
  OrphanReaper& operator=(const OrphanReaper&) = delete;

 private:
  std::set<pid_t> before_;
};

/// Takes what is there; at most `reads` buffers of it, so that signals get their turn.
void read_some(FileDescriptor& stream, int reads, LineBuffer& lines, const LineBuffer::Sink& sink) {
  std::array<char, 64 * 1024> buffer;
  for (int i = 0; i < reads && stream; ++i) {
    const ssize_t got = ::read(stream.get(), buffer.data(), buffer.size());
    if (got > 0) {
      lines.add(std::string_view(buffer.data(), static_cast<std::size_t>(got)), sink);
    } else if (got == 0) {
      stream.reset();
    } else if (errno != EINTR) {
      return;
    }
  }
}

Nanoseconds after(Nanoseconds now, Seconds wait) {
  return now + static_cast<Nanoseconds>(wait.count() * 1e9);
}

/// When the program is asked to end, and when it is killed.
class Ending {
 public:
  Ending(const StreamLimits& limits, Nanoseconds now) : limits_(limits) {
    if (limits.run) deadline_ = after(now, *limits.run);
  }

  /// `requests` that came from the user since the last call.
  void update(const ChildProcess& process, int requests, Nanoseconds now) {
    if (requests > 0) requests_ += requests;
    if (deadline_ && now > *deadline_ && !kill_at_) timed_out_ = true;
    if ((requests_ > 0 || timed_out_ || enough_) && !asked_) {
      asked_ = true;
      process.signal(SIGINT);
      kill_at_ = after(now, limits_.patience);
    }
    if (requests_ > 1 || (kill_at_ && now > *kill_at_)) process.signal(SIGKILL);
  }
  void end_soon(Nanoseconds now) {
    if (!kill_at_) kill_at_ = after(now, limits_.patience);
  }

  /// The program did what it was started for.
  void enough() { enough_ = enough_ || !kill_at_; }

  bool stop_requested() const { return requests_ > 0; }
  bool has_enough() const { return enough_; }
  bool timed_out() const { return timed_out_; }

 private:
  const StreamLimits& limits_;
  std::optional<Nanoseconds> deadline_;
  std::optional<Nanoseconds> kill_at_;
  int requests_ = 0;
  bool asked_ = false;
  bool timed_out_ = false;
  bool enough_ = false;
};

}  // namespace

StreamedOutcome run_streamed(const ProcessSpec& spec, const LineTakers& takers,
                             SignalInbox& signals, const Clock& clock, const StreamLimits& limits) {
  const OrphanReaper reaper;
  ProcessSpec kept = spec;
  kept.keep_descendants = true;
  ChildProcess process = ChildProcess::start(kept);
  Ending ending(limits, clock.monotonic());
  LineBuffer lines(kLongestLine);
  LineBuffer error_lines(kLongestLine);
  const auto sink_for = [&](const std::function<AfterLine(std::string_view)>& taker) {
    return [&ending, &clock, &taker](std::string_view line) {
      if (taker(line) == AfterLine::kEndSoon) ending.end_soon(clock.monotonic());
    };
  };
  const LineBuffer::Sink sink = sink_for(takers.output);
  const LineBuffer::Sink error_sink = sink_for(takers.errors);
  while (true) {
    std::vector<pollfd> wanted{{signals.fd(), POLLIN, 0}};
    if (process.output()) wanted.push_back({process.output().get(), POLLIN, 0});
    if (process.errors()) wanted.push_back({process.errors().get(), POLLIN, 0});
    ::poll(wanted.data(), wanted.size(), kStreamPollMs);
    ending.update(process, signals.take_stop_requests(), clock.monotonic());
    read_some(process.output(), 16, lines, sink);
    read_some(process.errors(), 16, error_lines, error_sink);
    if (takers.tick && takers.tick()) ending.enough();
    const auto status = process.poll();
    if (!status) continue;
    // A pipe has a bounded size; what others still write into it is not waited for.
    read_some(process.output(), 64, lines, sink);
    read_some(process.errors(), 64, error_lines, error_sink);
    lines.finish(sink);
    error_lines.finish(error_sink);
    return {*status, ending.stop_requested(), ending.timed_out(), ending.has_enough()};
  }
}

StreamedOutcome run_streamed(const ProcessSpec& spec,
                             const std::function<AfterLine(std::string_view line)>& on_line,
                             SignalInbox& signals, const Clock& clock, const StreamLimits& limits) {
  return run_streamed(spec, LineTakers{on_line, on_line, {}}, signals, clock, limits);
}

}  // namespace lockstep::launch
