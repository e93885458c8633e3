#include "lockstep/launch/worker_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>

#include "lockstep/base/error.h"
#include "lockstep/launch/process/line_buffer.h"
#include "lockstep/launch/refusal.h"
#include "lockstep/record/worker_environment.h"

namespace lockstep::launch {
namespace {

namespace environment = record::worker_environment;

constexpr std::size_t kLongestOutputLine = 64 * 1024;
constexpr std::size_t kLongestEventLine = 64 * 1024 * 1024;
constexpr std::size_t kKeptLines = 10;
constexpr int kPollMs = 100;
constexpr int kEventPipeBytes = 1024 * 1024;
/// Reads of one descriptor before the others get their turn.
constexpr int kReadsInARow = 16;

Nanoseconds nanoseconds(Seconds time) {
  return static_cast<Nanoseconds>(time.count() * 1e9);
}

/// One worker: its process, its two streams and its messages.
class Worker {
 public:
  Worker(ProcessSpec spec, int rank, const Clock& clock)
      : events_in_output_(spec.events_in_output), process_(start(spec)), clock_(clock) {
    outcome_.title = spec.title;
    outcome_.host = spec.host;
    // Launchers have titles; some start one worker, some all of them.
    if (!spec.title.empty()) {
      const bool one = spec.title.starts_with("rank ");
      refusals_.emplace(spec.title + (one ? " cannot be started" : " cannot start the workers"));
    }
    outcome_.rank = rank;
    heard_at_ = clock.monotonic();
  }

  bool running() const { return !outcome_.status.has_value(); }
  const WorkerOutcome& outcome() const { return outcome_; }

  void add_descriptors(std::vector<pollfd>& wanted) {
    if (process_.output()) wanted.push_back({process_.output().get(), POLLIN, 0});
    if (process_.errors()) wanted.push_back({process_.errors().get(), POLLIN, 0});
    if (events_) wanted.push_back({events_.get(), POLLIN, 0});
  }

  void read(GroupObserver& observer, int reads = kReadsInARow) {
    read_stream(process_.output(), reads, [&](std::string_view bytes) {
      output_lines_.add(bytes, [&](std::string_view line) { take_output(line, observer); });
    });
    read_stream(process_.errors(), reads, [&](std::string_view bytes) {
      error_lines_.add(bytes, [&](std::string_view line) { show(line, observer); });
    });
    read_stream(events_, reads, [&](std::string_view bytes) {
      event_lines_.add(bytes, [&](std::string_view line) { take_event(line, observer); });
    });
  }

  /// Detects the end of the process and reads what it left in its pipes.
  void check_end(GroupObserver& observer) {
    if (!running()) return;
    const auto status = process_.poll();
    if (!status) return;
    // The process has exited and a pipe has a bounded size, so this reads to the end.
    read(observer, kLongestEventLine);
    output_lines_.finish([&](std::string_view line) { take_output(line, observer); });
    error_lines_.finish([&](std::string_view line) { show(line, observer); });
    stop_listening(observer);
    outcome_.last_lines.assign(kept_.begin(), kept_.end());
    process_.output().reset();
    process_.errors().reset();
    events_.reset();
    outcome_.ended_at = clock_.monotonic();
    outcome_.status = status;
  }

  void ask_to_stop() const { process_.ask_to_stop(); }

  /// Kills it if it sent heartbeats and then none since `since`: it hangs, and a gentler signal
  /// would have no effect.
  void check_heartbeat(Nanoseconds since, Seconds limit) {
    if (!running() || !beats_ || heard_at_ > since || outcome_.told_to_end) return;
    record_failure({outcome_.rank, "worker",
                    fmt::format("it hangs: no heartbeat for {}", format_seconds(limit)),
                    "check whether it was stopped (SIGSTOP) or is blocked by a disk or a driver"});
    process_.signal(SIGKILL);
  }

  void end(int number) {
    if (!running()) return;
    outcome_.told_to_end = true;
    process_.signal(number);
  }

 private:
  ChildProcess start(ProcessSpec& spec) {
    if (spec.events_in_output) return ChildProcess::start(spec);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("cannot open a pipe: {}", std::strerror(errno)),
                  "raise the limit on open files (ulimit -n)");
    }
    events_ = FileDescriptor(ends[0]);
    const FileDescriptor write_end(ends[1]);
    ::fcntl(events_.get(), F_SETFL, O_NONBLOCK);
    // A worker must not block while a slow disk delays the reader.
    ::fcntl(write_end.get(), F_SETPIPE_SZ, kEventPipeBytes);
    spec.inherited.push_back(write_end.get());
    spec.environment.push_back(fmt::format("{}={}", environment::kEventPipe, write_end.get()));
    return ChildProcess::start(spec);
  }

  template <class Take>
  void read_stream(FileDescriptor& stream, int reads, Take&& take) {
    std::array<char, 64 * 1024> buffer;
    for (int i = 0; i < reads && stream; ++i) {
      const ssize_t got = ::read(stream.get(), buffer.data(), buffer.size());
      if (got > 0) {
        take(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
      } else if (got == 0) {
        stream.reset();
      } else if (errno != EINTR) {
        return;
      }
    }
  }

  /// Other lines of JSON may be on the same output, as those of a benchmark.
  static bool looks_like_event(std::string_view line) {
    return line.starts_with("{\"") && line.ends_with('}') &&
           line.find("\"type\":\"") != std::string_view::npos;
  }

  void take_output(std::string_view line, GroupObserver& observer) {
    if (events_in_output_ && looks_like_event(line)) return take_event(line, observer);
    show(line, observer);
  }

  void show(std::string_view line, GroupObserver& observer) {
    if (refusals_ && refusals_->hold(line)) {
      // Some only wait in a queue then, forever.
      if (refusals_->refusal() && !outcome_.refusal) process_.signal(SIGTERM);
      outcome_.refusal = refusals_->refusal();
      return;
    }
    kept_.emplace_back(line);
    if (kept_.size() > kKeptLines) kept_.pop_front();
    observer.on_output(outcome_.rank, line);
  }

  /// Its workers are there, or it has ended.
  void stop_listening(GroupObserver& observer) {
    if (!refusals_) return;
    for (const std::string& line : refusals_->stop()) show(line, observer);
  }

  void take_event(std::string_view line, GroupObserver& observer) {
    stop_listening(observer);
    std::optional<record::Event> event;
    try {
      event = record::from_line(std::string(line));
    } catch (const Error& problem) {
      record_failure({outcome_.rank, "worker",
                      fmt::format("it sent an invalid record: {}", problem.what()), ""});
      end(SIGTERM);  // it has not detected the failure itself
      return;
    }
    heard_at_ = clock_.monotonic();
    beats_ = beats_ || !event;
    if (!event) return;
    if (auto* error = std::get_if<record::WorkerError>(&*event)) {
      if (!events_in_output_) error->rank = outcome_.rank;
      record_failure(*error);
    }
    if (std::holds_alternative<record::RunEnded>(*event)) outcome_.closed_record = true;
    observer.on_event(outcome_.rank, *event);
  }

  void record_failure(const record::WorkerError& error) {
    if (outcome_.error || outcome_.told_to_end) return;
    outcome_.error = error;
    outcome_.error_at = clock_.monotonic();
  }

  bool events_in_output_;
  FileDescriptor events_;  // before process_: start() sets it
  ChildProcess process_;
  const Clock& clock_;
  WorkerOutcome outcome_;
  std::optional<RefusalListener> refusals_;
  bool beats_ = false;  ///< it sends heartbeats
  Nanoseconds heard_at_ = 0;
  LineBuffer output_lines_{events_in_output_ ? kLongestEventLine : kLongestOutputLine};
  LineBuffer error_lines_{kLongestOutputLine};
  LineBuffer event_lines_{kLongestEventLine};
  std::deque<std::string> kept_;
};

/// The poll loop, and the decisions when to end which worker.
class Group {
 public:
  Group(std::vector<ProcessSpec> specs, GroupObserver& observer, SignalInbox& signals,
        const Clock& clock, const GroupLimits& limits)
      : observer_(observer), signals_(signals), clock_(clock), limits_(limits) {
    workers_.reserve(specs.size());
    for (std::size_t rank = 0; rank < specs.size(); ++rank) {
      workers_.emplace_back(std::move(specs[rank]), static_cast<int>(rank), clock);
    }
  }

  GroupOutcome run() {
    while (any_running()) {
      poll_once();
      handle_stop_requests(signals_.take_stop_requests());
      for (Worker& worker : workers_) {
        worker.read(observer_);
        worker.check_end(observer_);
      }
      check_heartbeats();
      decide();
    }
    GroupOutcome outcome;
    outcome.workers = outcomes();
    outcome.stop_requested = stop_requests_ > 0;
    outcome.failure = failure_;
    return outcome;
  }

 private:
  bool any_running() const {
    return std::any_of(workers_.begin(), workers_.end(),
                       [](const Worker& w) { return w.running(); });
  }

  std::vector<WorkerOutcome> outcomes() const {
    std::vector<WorkerOutcome> list;
    for (const Worker& worker : workers_) list.push_back(worker.outcome());
    return list;
  }

  /// Heartbeats that arrived while this process itself was stopped count as received.
  void check_heartbeats() {
    const Nanoseconds now = clock_.monotonic();
    const Nanoseconds limit = nanoseconds(limits_.silence);
    if (now - looked_at_ > limit / 2) stopped_until_ = now;
    looked_at_ = now;
    if (now - stopped_until_ < limit) return;
    for (Worker& worker : workers_) worker.check_heartbeat(now - limit, limits_.silence);
  }

  void poll_once() {
    wanted_.assign(1, {signals_.fd(), POLLIN, 0});
    for (Worker& worker : workers_) worker.add_descriptors(wanted_);
    ::poll(wanted_.data(), wanted_.size(), kPollMs);
  }

  void handle_stop_requests(int count) {
    for (; count > 0; --count) {
      if (++stop_requests_ == 1) {
        observer_.on_stop(false);
        for (Worker& worker : workers_) {
          if (worker.running()) worker.ask_to_stop();
        }
        stop_by_ = clock_.monotonic() + nanoseconds(limits_.stop);
      } else {
        kill_for_user();
      }
    }
    if (stop_by_ && clock_.monotonic() > *stop_by_) kill_for_user();
  }

  void kill_for_user() {
    if (killed_by_user_) return;
    killed_by_user_ = true;
    observer_.on_stop(true);
    end_all(SIGKILL);
  }

  void end_all(int number, int except_rank = -1) {
    for (Worker& worker : workers_) {
      if (worker.outcome().rank != except_rank) worker.end(number);
    }
  }

  void decide() {
    const Nanoseconds now = clock_.monotonic();
    if (kill_at_) {
      if (now > *kill_at_) end_all(SIGKILL);
      return;
    }
    const std::vector<WorkerOutcome> state = outcomes();
    const bool stopping = stop_requests_ > 0;
    if (auto failure = first_cause(state, stopping)) {
      if (failure->symptom && !symptom_at_) symptom_at_ = now;
      const bool wait_for_cause =
          failure->symptom && any_running() && now < *symptom_at_ + nanoseconds(limits_.cause);
      if (wait_for_cause) return;
      // When the user asked for the end, ranks that stop one after the other miss each other.
      const bool expected = failure->symptom && stopping;
      // The worker that failed ends by itself, after its last output.
      begin_end(now, failure->rank);
      if (!expected) failure_ = std::move(failure);
      return;
    }
    check_leaving(state, now);
  }

  /// After RunEnded the only thing left for a worker is to exit.
  void check_leaving(const std::vector<WorkerOutcome>& state, Nanoseconds now) {
    const bool over =
        std::any_of(state.begin(), state.end(), [](const auto& w) { return w.closed_record; });
    if (!over) return;
    if (!leave_by_) leave_by_ = now + nanoseconds(limits_.leave);
    if (now <= *leave_by_) return;
    for (const WorkerOutcome& worker : state) {
      if (worker.status) continue;
      failure_ = Failure{
          worker.rank, false,
          Error(ErrorKind::kWorker, fmt::format("{} did not exit within {} of the end of the run",
                                                worker_title(worker.rank, state.size()),
                                                format_seconds(limits_.leave)))};
      break;
    }
    begin_end(now, -1);
  }

  void begin_end(Nanoseconds now, int except_rank) {
    kill_at_ = now + nanoseconds(limits_.end);
    end_all(SIGTERM, except_rank);
  }

  GroupObserver& observer_;
  SignalInbox& signals_;
  const Clock& clock_;
  GroupLimits limits_;
  std::vector<Worker> workers_;
  std::vector<pollfd> wanted_;
  std::optional<Failure> failure_;
  int stop_requests_ = 0;
  bool killed_by_user_ = false;
  std::optional<Nanoseconds> symptom_at_;
  std::optional<Nanoseconds> kill_at_;
  std::optional<Nanoseconds> leave_by_;
  std::optional<Nanoseconds> stop_by_;
  Nanoseconds looked_at_ = 0;
  Nanoseconds stopped_until_ = 0;  ///< or the start
};

}  // namespace

GroupOutcome run_group(std::vector<ProcessSpec> specs, GroupObserver& observer,
                       SignalInbox& signals, const Clock& clock, const GroupLimits& limits) {
  return Group(std::move(specs), observer, signals, clock, limits).run();
}

}  // namespace lockstep::launch
