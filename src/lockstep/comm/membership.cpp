#include "lockstep/comm/membership.h"

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

#include "lockstep/comm/frames.h"

namespace lockstep::comm {
namespace {

constexpr int kTickMs = 500;
constexpr std::chrono::milliseconds kShortestPause{10};
constexpr std::chrono::milliseconds kLongestPause{200};
constexpr Seconds kTryTime{5};
constexpr int kClockProbes = 8;

using Time = std::chrono::steady_clock::time_point;

Time now_steady() {
  return std::chrono::steady_clock::now();
}

/// The coordinator may start later than this rank, and other programs may sit on some ports.
Socket find_coordinator(const MembershipOptions& options) {
  const Deadline deadline = after(options.join);
  std::string last = "there is no port to try";
  std::string hint;
  auto pause = kShortestPause;
  while (now_steady() < deadline) {
    for (const int port : options.ports) {
      try {
        return introduce({options.host, port}, options.secret,
                         {Purpose::kControl, options.rank, options.size},
                         std::min(deadline, after(kTryTime)));
      } catch (const Error& problem) {
        // That nobody answers says less than anything else.
        if (!std::string_view(problem.what()).starts_with("nobody") || hint.empty()) {
          last = problem.what();
          hint = problem.hint();
        }
      }
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
  throw Error(
      ErrorKind::kPeer,
      fmt::format("rank {} did not find rank 0 at {} within {}: {}", options.rank, options.host,
                  format_seconds(options.join), last),
      hint.empty() ? "see whether rank 0 was started and whether its host can be reached" : hint);
}

}  // namespace

/// The connection and its thread.
class Membership::Line {
 public:
  explicit Line(MembershipOptions options)
      : options_(std::move(options)),
        stream_(find_coordinator(options_)),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    address_ = stream_.socket().local().host;
    heard_ = now_steady();
    thread_ = std::thread([this] { run(); });
    send({FrameType::kPut, {fmt::format("host/{}", options_.rank), options_.host_name}});
  }

  ~Line() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    wake();
    thread_.join();
    ::close(wake_);
  }

  const std::string& address() const { return address_; }
  const MembershipOptions& options() const { return options_; }

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
                  fmt::format("no rank gave {} within {}", key, format_seconds(timeout)));
    }
    const std::string value = values_[key];
    values_.erase(key);
    return value;
  }

  std::optional<Error> trouble() const {
    const std::lock_guard lock(mutex_);
    return trouble_;
  }

  /// Waits until what was sent is on its way, a moment at most.
  void say_last(Frame frame) {
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
    [[maybe_unused]] const auto wrote = ::write(wake_, &one, sizeof one);
  }

  void run() {
    Time looked = now_steady();
    while (true) {
      pollfd wanted[] = {{wake_, POLLIN, 0}, {stream_.socket().fd(), POLLIN, 0}};
      ::poll(wanted, lost_ ? 1 : 2, kTickMs);
      std::uint64_t ignored = 0;
      [[maybe_unused]] const auto got = ::read(wake_, &ignored, sizeof ignored);
      if (now_steady() - looked > options_.silence / 2)
        heard_ = now_steady();  // it was this process that slept
      looked = now_steady();
      if (!lost_) exchange();
      const std::lock_guard lock(mutex_);
      if (closing_ && (outbox_.empty() || lost_)) return;
      if (trouble_ && !left_ && options_.grace.count() > 0 && now_steady() > exit_at_)
        end_process();
    }
  }

  void exchange() {
    try {
      send_waiting();
      const bool open = stream_.receive();
      while (auto frame = stream_.next()) take(*frame);
      if (!open) {
        lose("rank 0, which keeps the run together, is gone");
      } else if (now_steady() - heard_ > options_.silence) {
        lose(
            fmt::format("rank 0, which keeps the run together, hangs: nothing was heard of it "
                        "for {}",
                        format_seconds(options_.silence)));
      }
    } catch (const Error& problem) {
      lose(fmt::format("the connection to rank 0 was lost: {}", problem.what()));
    }
  }

  void send_waiting() {
    std::vector<Frame> frames;
    {
      const std::lock_guard lock(mutex_);
      frames.swap(outbox_);
    }
    if (now_steady() > beat_at_) {
      frames.push_back({FrameType::kBeat, {}});
      beat_at_ = after(Seconds(1));
    }
    for (const Frame& frame : frames) stream_.send(frame);
    stream_.flush();
    changed_.notify_all();
  }

  void take(const Frame& frame) {
    heard_ = now_steady();
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
    fail(Error(ErrorKind::kPeer, message, "its own output says why"));
  }

  void fail(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!left_ && !closing_ && !trouble_) {
      trouble_ = error;
      exit_at_ = after(options_.grace);
    }
    changed_.notify_all();
  }

  /// The thread that trains had its time to end by itself.
  [[noreturn]] void end_process() {
    std::fprintf(stderr, "[rank %d/%d] error: %s\n", options_.rank, options_.size,
                 trouble_->what());
    std::fflush(stderr);
    ::_exit(exit_code(ErrorKind::kPeer));
  }

  MembershipOptions options_;
  FrameStream stream_;
  int wake_ = -1;
  std::string address_;
  Time heard_;
  Time beat_at_{};
  Time exit_at_{};
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

Membership::Membership(MembershipOptions options)
    : line_(std::make_unique<Line>(std::move(options))) {}
Membership::~Membership() = default;

void Membership::put(const std::string& key, const std::string& value) {
  line_->send({FrameType::kPut, {key, value}});
}

std::string Membership::get(const std::string& key, Seconds timeout) {
  return line_->get(key, timeout);
}

std::optional<Error> Membership::trouble() const {
  return line_->trouble();
}

void Membership::check() const {
  if (const auto error = line_->trouble()) throw *error;
}

std::string Membership::local_address() const {
  return line_->address();
}

Nanoseconds Membership::clock_offset() {
  const SystemClock clock;
  Nanoseconds shortest = std::numeric_limits<Nanoseconds>::max();
  Nanoseconds offset = 0;
  for (int i = 0; i < kClockProbes; ++i) {
    const Nanoseconds before = clock.monotonic();
    const Nanoseconds there = std::stoll(line_->get("clock", line_->options().join));
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
    line_->say_last(
        {FrameType::kFailed, {std::string(kind_name(error.kind())), error.what(), error.hint()}});
  } catch (const std::exception&) {
    // The coordinator finds out by itself.
  }
}

void Membership::leave() noexcept {
  try {
    line_->say_last({FrameType::kDone, {}});
  } catch (const std::exception&) {
    // As above.
  }
}

}  // namespace lockstep::comm
