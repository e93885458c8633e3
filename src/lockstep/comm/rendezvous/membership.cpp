#include "lockstep/comm/rendezvous/membership.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

#include "lockstep/comm/rendezvous/frames.h"
#include "lockstep/comm/rendezvous/handshake.h"
#include "lockstep/comm/rendezvous/network_address.h"

namespace lockstep::comm {
namespace {

constexpr int kTickMs = 500;
constexpr std::chrono::milliseconds kShortestPause{10};
constexpr std::chrono::milliseconds kLongestPause{200};
constexpr Seconds kTryTime{5};
constexpr int kClockProbes = 8;

/// The coordinator may start later than this rank, and other programs may use some of the ports.
FileDescriptor find_coordinator(const SessionOptions& options, const MeetingPoint& meeting) {
  const Deadline deadline = after(options.timeout);
  const Placement& place = options.place;
  std::string last = "no port to try";
  std::string hint;
  auto pause = kShortestPause;
  while (now() < deadline) {
    for (const int port : meeting.ports) {
      try {
        return connect_authenticated({meeting.address, port}, options.secret,
                                     {place.rank, place.size}, std::min(deadline, after(kTryTime)));
      } catch (const Error& problem) {
        // A refused handshake, which has a hint, is more useful than a port where nothing answers.
        if (!problem.hint().empty() || hint.empty()) {
          last = problem.what();
          hint = problem.hint();
        }
      }
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
  throw Error(ErrorKind::kPeer,
              fmt::format("rank {} could not reach rank 0 at {} within {}: {}", place.rank,
                          meeting.address, format_seconds(options.timeout), last),
              hint.empty() ? "check that rank 0 was started and that its host is reachable" : hint);
}

}  // namespace

/// The connection and its thread.
class Membership::Connection {
 public:
  Connection(const SessionOptions& options, const MeetingPoint& place)
      : options_(options),
        stream_(find_coordinator(options_, place)),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    address_ = local_endpoint(stream_.socket()).host;
    last_heard_ = now();
    thread_ = std::thread([this] { run(); });
    send({FrameType::kPut, {fmt::format("host/{}", options_.place.rank), host_name()}});
  }

  ~Connection() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    wake();
    thread_.join();
  }

  const std::string& address() const { return address_; }
  const SessionOptions& options() const { return options_; }

  void send(Frame frame) {
    {
      const std::lock_guard lock(mutex_);
      outbox_.push_back(std::move(frame));
    }
    wake();
  }

  std::string get(const std::string& key, Seconds timeout) {
    send({FrameType::kGet, {key}});
    std::unique_lock lock(mutex_);
    const bool there = changed_.wait_until(
        lock, after(timeout), [&] { return trouble_.has_value() || values_.contains(key); });
    if (trouble_) throw *trouble_;
    if (!there) {
      throw Error(ErrorKind::kPeer,
                  fmt::format("no rank stored {} within {}", key, format_seconds(timeout)));
    }
    std::string value = std::move(values_[key]);
    values_.erase(key);
    return value;
  }

  std::optional<Error> trouble() const {
    const std::lock_guard lock(mutex_);
    return trouble_;
  }

  /// Waits until everything is sent, 2 s at most.
  void send_last(Frame frame) {
    {
      const std::lock_guard lock(mutex_);
      left_ = true;
    }
    send(std::move(frame));
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(2), [&] { return outbox_.empty() || lost_; });
  }

 private:
  void wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto wrote = ::write(wake_.get(), &one, sizeof one);
  }

  void run() {
    Deadline looked = now();
    while (true) {
      pollfd wanted[] = {{wake_.get(), POLLIN, 0}, {stream_.socket().get(), POLLIN, 0}};
      ::poll(wanted, lost_ ? 1 : 2, kTickMs);
      std::uint64_t ignored = 0;
      [[maybe_unused]] const auto got = ::read(wake_.get(), &ignored, sizeof ignored);
      if (now() - looked > options_.silence / 2)
        last_heard_ = now();  // this process itself was stopped
      looked = now();
      if (!lost_) exchange();
      const std::lock_guard lock(mutex_);
      if (closing_ && (outbox_.empty() || lost_)) return;
      if (trouble_ && !left_ && options_.grace.count() > 0 && now() > exit_at_) end_process();
    }
  }

  void exchange() {
    try {
      send_queued();
      const bool open = stream_.receive();
      while (auto frame = stream_.next()) handle(*frame);
      if (!open) {
        lose("rank 0, which coordinates the run, has exited");
      } else if (now() - last_heard_ > options_.silence) {
        lose(fmt::format("rank 0, which coordinates the run, hangs: no heartbeat for {}",
                         format_seconds(options_.silence)));
      }
    } catch (const Error& problem) {
      lose(fmt::format("the connection to rank 0 was lost: {}", problem.what()));
    }
  }

  void send_queued() {
    std::vector<Frame> frames;
    {
      const std::lock_guard lock(mutex_);
      frames.swap(outbox_);
    }
    if (now() > beat_at_) {
      frames.push_back({FrameType::kBeat, {}});
      beat_at_ = after(Seconds(1));
    }
    for (const Frame& frame : frames) stream_.send(frame);
    stream_.flush();
    changed_.notify_all();
  }

  void handle(const Frame& frame) {
    last_heard_ = now();
    if (frame.type == FrameType::kValue) {
      const std::lock_guard lock(mutex_);
      values_[frame.field(0)] = frame.field(1);
    } else if (frame.type == FrameType::kAbort) {
      fail(Error(ErrorKind::kPeer, frame.field(0), frame.field(1)));
    }
    changed_.notify_all();
  }

  void lose(const std::string& message) {
    lost_ = true;
    fail(Error(ErrorKind::kPeer, message, "see its output for the cause"));
  }

  void fail(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!left_ && !closing_ && !trouble_) {
      trouble_ = error;
      exit_at_ = after(options_.grace);
    }
    changed_.notify_all();
  }

  /// The training thread did not end by itself in time.
  [[noreturn]] void end_process() {
    std::fprintf(stderr, "[rank %d/%d] error: %s\n", options_.place.rank, options_.place.size,
                 trouble_->what());
    std::fflush(stderr);
    ::_exit(exit_code(ErrorKind::kPeer));
  }

  SessionOptions options_;
  FrameStream stream_;
  FileDescriptor wake_;
  std::string address_;
  Deadline last_heard_;
  Deadline beat_at_{};
  Deadline exit_at_{};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Frame> outbox_;
  std::map<std::string, std::string> values_;
  std::optional<Error> trouble_;
  bool closing_ = false;
  bool left_ = false;
  std::atomic<bool> lost_{false};
  std::thread thread_;
};

Membership::Membership(const SessionOptions& options, const MeetingPoint& place)
    : connection_(std::make_unique<Connection>(options, place)) {}
Membership::~Membership() = default;

void Membership::put(const std::string& key, const std::string& value) {
  connection_->send({FrameType::kPut, {key, value}});
}

std::string Membership::get(const std::string& key, Seconds timeout) {
  return connection_->get(key, timeout);
}

std::optional<Error> Membership::trouble() const {
  return connection_->trouble();
}

void Membership::check() const {
  if (const auto error = connection_->trouble()) throw *error;
}

std::string Membership::local_address() const {
  return connection_->address();
}

Nanoseconds Membership::clock_offset() {
  const SystemClock clock;
  Nanoseconds shortest = std::numeric_limits<Nanoseconds>::max();
  Nanoseconds offset = 0;
  for (int i = 0; i < kClockProbes; ++i) {
    const Nanoseconds before = clock.monotonic();
    const Nanoseconds there = std::stoll(connection_->get("clock", connection_->options().timeout));
    const Nanoseconds after = clock.monotonic();
    // The shortest round trip leaves the least room for the answer to be late.
    if (after - before >= shortest) continue;
    shortest = after - before;
    offset = there - (before + after) / 2;
  }
  return offset;
}

void Membership::report(const Error& error) noexcept {
  try {
    connection_->send_last(
        {FrameType::kFailed, {std::string(kind_name(error.kind())), error.what(), error.hint()}});
  } catch (const std::exception&) {
    // The coordinator detects the end by itself.
  }
}

void Membership::leave() noexcept {
  try {
    connection_->send_last({FrameType::kDone, {}});
  } catch (const std::exception&) {
    // As above.
  }
}

}  // namespace lockstep::comm
