#include "lockstep/comm/coordinator.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <optional>
#include <thread>

#include "lockstep/base/clock.h"
#include "lockstep/base/log.h"
#include "lockstep/comm/frames.h"
#include "lockstep/comm/peer_watch.h"

namespace lockstep::comm {
namespace {

constexpr int kPollMs = 200;
constexpr Seconds kBeat{1};
constexpr Seconds kLinger{5};
/// How long a complaint about another rank waits for that rank's own words.
constexpr Seconds kCause{1};
constexpr int kFirstPort = 20'000;
constexpr int kPortSpan = 12'000;
constexpr int kPortsTried = 8;

using Time = std::chrono::steady_clock::time_point;

Time now() {
  return std::chrono::steady_clock::now();
}

}  // namespace

/// The thread and what it knows of every rank.
class Coordinator::Loop {
 public:
  Loop(CoordinatorOptions options, Socket listener)
      : options_(std::move(options)),
        members_(static_cast<std::size_t>(options_.size)),
        join_by_(after(options_.join)),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    doorman_.emplace(std::move(listener), options_.secret, Purpose::kControl, options_.size);
    thread_ = std::thread([this] { run(); });
  }

  ~Loop() {
    leaving_.store(true);
    const std::uint64_t one = 1;
    if (::write(wake_, &one, sizeof one) < 0) std::abort();  // an eventfd takes a 1
    thread_.join();
    ::close(wake_);
  }

 private:
  struct Member {
    std::optional<FrameStream> stream;
    bool joined = false;
    bool left = false;  ///< said so, or failed
    Time heard;
    std::vector<std::string> wanted;  ///< keys it waits for
  };

  void run() {
    std::optional<Time> stop_by;
    Time looked = now();
    while (true) {
      if (!stop_by && (leaving_.load() || failure_)) stop_by = after(kLinger);
      if (stop_by && (everyone_left() || now() > *stop_by)) return;
      wait_for_news();
      // What this process could not hear while it was stopped itself is nobody's silence.
      if (now() - looked > options_.silence / 2) forgive_silence();
      looked = now();
      let_in();
      for (std::size_t rank = 0; rank < members_.size(); ++rank) listen_to(static_cast<int>(rank));
      beat();
      judge();
    }
  }

  void wait_for_news() {
    std::vector<pollfd> wanted{{wake_, POLLIN, 0}};
    if (doorman_) wanted.push_back({doorman_->fd(), POLLIN, 0});
    for (const Member& member : members_) {
      if (!member.stream) continue;
      const short events = member.stream->has_unsent() ? POLLIN | POLLOUT : POLLIN;
      wanted.push_back({member.stream->socket().fd(), events, 0});
    }
    // The wake-up is for good: once leaving, poll only for what is left.
    const bool leaving = leaving_.load();
    ::poll(wanted.data() + (leaving ? 1 : 0), wanted.size() - (leaving ? 1 : 0),
           leaving ? 20 : kPollMs);
  }

  void forgive_silence() {
    for (Member& member : members_) member.heard = now();
  }

  void let_in() {
    if (!doorman_) return;
    for (auto& [socket, rank] : doorman_->serve()) {
      Member& member = members_[static_cast<std::size_t>(rank)];
      if (member.joined) continue;
      member.stream.emplace(std::move(socket));
      member.joined = true;
      member.heard = now();
    }
    const auto missing = missing_ranks();
    if (missing.empty()) {
      close_door();
    } else if (now() > join_by_) {
      declare({missing.front(),
               Error(ErrorKind::kPeer,
                     fmt::format("{} did not arrive within {}", name_ranks(missing),
                                 format_seconds(options_.join)),
                     "see whether it was started, and whether it can reach this host")});
      close_door();
    }
  }

  void close_door() {
    if (doorman_->refused() > 0) {
      log_warning(fmt::format("turned away {} connection(s) that did not belong to this run",
                              doorman_->refused()));
    }
    doorman_.reset();
  }

  std::vector<int> missing_ranks() const {
    std::vector<int> missing;
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      if (!members_[rank].joined) missing.push_back(static_cast<int>(rank));
    }
    return missing;
  }

  void listen_to(int rank) {
    Member& member = members_[static_cast<std::size_t>(rank)];
    if (!member.stream) return;
    try {
      member.stream->flush();
      const bool open = member.stream->receive();
      while (auto frame = member.stream->next()) take(rank, member, *frame);
      if (!open) lose(rank, member, "died");
    } catch (const Error& problem) {
      lose(rank, member, "was lost: " + std::string(problem.what()));
    }
  }

  void lose(int rank, Member& member, const std::string& how) {
    member.stream.reset();
    if (std::exchange(member.left, true)) return;
    declare({rank, Error(ErrorKind::kPeer, title(rank) + " " + how, "its own output says why")});
  }

  void take(int rank, Member& member, const Frame& frame) {
    member.heard = now();
    switch (frame.type) {
      case FrameType::kPut:
        put(frame.field(0), frame.field(1));
        return;
      case FrameType::kGet:
        member.wanted.push_back(frame.field(0));
        answer(member);
        return;
      case FrameType::kFailed:
        member.left = true;
        take_failure({rank, Error(kind_from_name(frame.field(0)), frame.field(1), frame.field(2))});
        return;
      case FrameType::kDone:
        member.left = true;
        return;
      default:
        return;
    }
  }

  void put(const std::string& key, const std::string& value) {
    values_[key] = value;
    for (Member& member : members_) {
      if (member.stream) answer(member);
    }
  }

  void answer(Member& member) {
    std::erase_if(member.wanted, [&](const std::string& key) {
      // Its own clock, by which ranks of other hosts set theirs.
      if (key == "clock") {
        member.stream->send({FrameType::kValue, {key, fmt::format("{}", clock_.monotonic())}});
        return true;
      }
      const auto found = values_.find(key);
      if (found == values_.end()) return false;
      member.stream->send({FrameType::kValue, {key, found->second}});
      return true;
    });
  }

  /// Who complains about a peer is rarely the cause.
  void take_failure(RankFailure failure) {
    if (failure.error.kind() != ErrorKind::kPeer) return declare(std::move(failure));
    if (!complaint_) {
      complaint_ = std::move(failure);
      complaint_until_ = after(kCause);
    }
  }

  void beat() {
    if (now() < beat_at_) return;
    beat_at_ = after(kBeat);
    for (Member& member : members_) {
      if (!member.stream) continue;
      try {
        member.stream->send({FrameType::kBeat, {}});
      } catch (const Error&) {
        // listen_to() finds out.
      }
    }
  }

  void judge() {
    if (complaint_ && now() > complaint_until_) declare(*complaint_);
    if (leaving_.load()) return;
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      Member& member = members_[rank];
      if (!member.stream || member.left || now() - member.heard < options_.silence) continue;
      lose(static_cast<int>(rank), member,
           fmt::format("hangs: nothing was heard of it for {}", format_seconds(options_.silence)));
    }
  }

  void declare(RankFailure failure) {
    if (failure_) return;
    failure_ = std::move(failure);
    options_.on_failure(*failure_);
    for (Member& member : members_) {
      if (!member.stream || member.left) continue;
      try {
        member.stream->send({FrameType::kAbort, {failure_->error.what(), failure_->error.hint()}});
      } catch (const Error&) {
        // It is lost too; one failure is enough.
      }
    }
  }

  std::string title(int rank) const {
    const auto host = values_.find(fmt::format("host/{}", rank));
    return host == values_.end() ? fmt::format("rank {}", rank)
                                 : fmt::format("rank {} on {}", rank, host->second);
  }

  bool everyone_left() const {
    for (const Member& member : members_) {
      if (member.stream && !member.left) return false;
    }
    return true;
  }

  CoordinatorOptions options_;
  SystemClock clock_;
  std::vector<Member> members_;
  std::optional<Doorman> doorman_;
  Time join_by_;
  Time beat_at_{};
  std::map<std::string, std::string> values_;
  std::optional<RankFailure> complaint_;
  Time complaint_until_{};
  std::optional<RankFailure> failure_;
  std::atomic<bool> leaving_{false};
  int wake_ = -1;
  std::thread thread_;
};

Coordinator::Coordinator(CoordinatorOptions options) {
  Socket listener;
  for (std::size_t i = 0; i < options.ports.size() && !listener; ++i) {
    try {
      listener = listen_on({options.address, options.ports[i]});
    } catch (const Error&) {
      if (i + 1 == options.ports.size()) throw;
    }
  }
  port_ = listener.local().port;
  loop_ = std::make_unique<Loop>(std::move(options), std::move(listener));
}

Coordinator::~Coordinator() = default;

std::vector<int> ports_of_job(const JobSecret& secret) {
  // Of a digest of the secret: the ports must not tell anything about it.
  const Sha256 mixed = sha256(std::span<const std::byte>(secret));
  std::uint32_t number = 0;
  std::memcpy(&number, mixed.data(), sizeof number);
  std::vector<int> ports;
  for (int i = 0; i < kPortsTried; ++i) {
    ports.push_back(kFirstPort +
                    static_cast<int>((number + static_cast<std::uint32_t>(i) * 97) % kPortSpan));
  }
  return ports;
}

}  // namespace lockstep::comm
