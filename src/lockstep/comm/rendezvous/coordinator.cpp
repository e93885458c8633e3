#include "lockstep/comm/rendezvous/coordinator.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <thread>

#include "lockstep/base/clock.h"
#include "lockstep/base/terminal/log.h"
#include "lockstep/base/units.h"
#include "lockstep/comm/rendezvous/frames.h"
#include "lockstep/comm/rendezvous/handshake.h"
#include "lockstep/comm/rendezvous/peer_watch.h"

namespace lockstep::comm {
namespace {

constexpr int kPollMs = 200;
constexpr int kLeavingPollMs = 20;
constexpr Seconds kCoordinatorBeat{1};
constexpr Seconds kLinger{5};
/// How long a report about another rank is held back for the report of that rank itself.
constexpr Seconds kCauseWait{1};
constexpr int kFirstPort = 20'000;
constexpr int kPortSpan = 12'000;
constexpr int kPortsTried = 8;

}  // namespace

/// The thread and the state of every rank.
class Coordinator::Loop {
 public:
  Loop(const SessionOptions& options, FileDescriptor listener)
      : options_(options),
        members_(static_cast<std::size_t>(options_.place.size)),
        join_by_(after(options_.timeout)),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    acceptor_.emplace(std::move(listener), options_.secret, options_.place.size);
    thread_ = std::thread([this] { run(); });
  }

  ~Loop() {
    leaving_.store(true);
    const std::uint64_t one = 1;
    if (::write(wake_.get(), &one, sizeof one) < 0) std::abort();  // an eventfd takes a 1
    thread_.join();
  }

 private:
  struct Member {
    std::optional<FrameStream> stream;
    bool joined = false;
    bool left = false;  ///< reported its end, or failed
    Deadline last_heard;
    std::vector<std::string> wanted;  ///< keys whose values it waits for
  };

  void run() {
    std::optional<Deadline> stop_by;
    Deadline looked = now();
    while (true) {
      if (!stop_by && (leaving_.load() || failure_)) stop_by = after(kLinger);
      if (stop_by && (everyone_left() || now() > *stop_by)) return;
      poll_once();
      // Heartbeats that this process missed while it was stopped itself count as received.
      if (now() - looked > options_.silence / 2) reset_silence();
      looked = now();
      accept_ranks();
      for (std::size_t rank = 0; rank < members_.size(); ++rank)
        receive_from(static_cast<int>(rank));
      beat();
      check_failures();
    }
  }

  void poll_once() {
    std::vector<pollfd> wanted{{wake_.get(), POLLIN, 0}};
    if (acceptor_) wanted.push_back({acceptor_->fd(), POLLIN, 0});
    for (const Member& member : members_) {
      if (!member.stream) continue;
      const short events = member.stream->has_unsent() ? POLLIN | POLLOUT : POLLIN;
      wanted.push_back({member.stream->socket().get(), events, 0});
    }
    // The wake-up stays readable: while leaving, poll only for the ranks that remain.
    const bool leaving = leaving_.load();
    ::poll(wanted.data() + (leaving ? 1 : 0), wanted.size() - (leaving ? 1 : 0),
           leaving ? kLeavingPollMs : kPollMs);
  }

  void reset_silence() {
    for (Member& member : members_) member.last_heard = now();
  }

  void accept_ranks() {
    if (!acceptor_) return;
    for (auto& [socket, rank] : acceptor_->serve()) {
      Member& member = members_[static_cast<std::size_t>(rank)];
      if (member.joined) continue;
      member.stream.emplace(std::move(socket));
      member.joined = true;
      member.last_heard = now();
    }
    const auto missing = missing_ranks();
    if (missing.empty()) {
      stop_listening();
    } else if (now() > join_by_) {
      end_run(
          {missing.front(), Error(ErrorKind::kPeer,
                                  fmt::format("{} did not join within {}", name_ranks(missing),
                                              format_seconds(options_.timeout)),
                                  "check that it was started and that it can reach this host")});
      stop_listening();
    }
  }

  void stop_listening() {
    if (acceptor_->refused() > 0) {
      log_warning(fmt::format("refused {} from outside this run",
                              counted(acceptor_->refused(), "connection")));
    }
    acceptor_.reset();
  }

  std::vector<int> missing_ranks() const {
    std::vector<int> missing;
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      if (!members_[rank].joined) missing.push_back(static_cast<int>(rank));
    }
    return missing;
  }

  void receive_from(int rank) {
    Member& member = members_[static_cast<std::size_t>(rank)];
    if (!member.stream) return;
    try {
      member.stream->flush();
      const bool open = member.stream->receive();
      while (auto frame = member.stream->next()) handle(rank, member, *frame);
      if (!open) lose(rank, member, "died");
    } catch (const Error& problem) {
      lose(rank, member, "was lost: " + std::string(problem.what()));
    }
  }

  void lose(int rank, Member& member, const std::string& how) {
    member.stream.reset();
    if (std::exchange(member.left, true)) return;
    end_run(
        {rank, Error(ErrorKind::kPeer, title(rank) + " " + how, "see its output for the cause")});
  }

  void handle(int rank, Member& member, const Frame& frame) {
    member.last_heard = now();
    switch (frame.type) {
      case FrameType::kPut:
        put(frame.field(0), frame.field(1));
        return;
      case FrameType::kGet:
        want(member, frame.field(0));
        answer(member);
        return;
      case FrameType::kFailed:
        member.left = true;
        handle_failure(
            {rank, Error(kind_from_name(frame.field(0)), frame.field(1), frame.field(2))});
        return;
      case FrameType::kDone:
        member.left = true;
        return;
      default:
        return;
    }
  }

  /// Once, however often it is asked for: a thread of LibTorch asks every second for a key that is
  /// set only when a run fails.
  static void want(Member& member, const std::string& key) {
    const auto known = std::find(member.wanted.begin(), member.wanted.end(), key);
    if (known == member.wanted.end()) member.wanted.push_back(key);
  }

  void put(const std::string& key, const std::string& value) {
    values_[key] = value;
    for (Member& member : members_) {
      if (member.stream) answer(member);
    }
  }

  void answer(Member& member) {
    std::erase_if(member.wanted, [&](const std::string& key) {
      // The clock of this host, to which ranks of other hosts set theirs.
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

  /// A rank that reports the loss of a peer is rarely the cause.
  void handle_failure(RankFailure failure) {
    if (failure.error.kind() != ErrorKind::kPeer) return end_run(std::move(failure));
    if (!peer_report_) {
      peer_report_ = std::move(failure);
      report_until_ = after(kCauseWait);
    }
  }

  void beat() {
    if (now() < beat_at_) return;
    beat_at_ = after(kCoordinatorBeat);
    for (Member& member : members_) {
      if (!member.stream) continue;
      try {
        member.stream->send({FrameType::kBeat, {}});
      } catch (const Error&) {
        // receive_from() detects it.
      }
    }
  }

  void check_failures() {
    if (peer_report_ && now() > report_until_) end_run(*peer_report_);
    if (leaving_.load()) return;
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      Member& member = members_[rank];
      if (!member.stream || member.left || now() - member.last_heard < options_.silence) continue;
      lose(static_cast<int>(rank), member,
           fmt::format("hangs: no heartbeat for {}", format_seconds(options_.silence)));
    }
  }

  void end_run(RankFailure failure) {
    if (failure_) return;
    failure_ = std::move(failure);
    options_.on_failure(*failure_);
    for (Member& member : members_) {
      if (!member.stream || member.left) continue;
      try {
        member.stream->send({FrameType::kAbort, {failure_->error.what(), failure_->error.hint()}});
      } catch (const Error&) {
        // It is lost too; the first failure is the one to report.
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

  SessionOptions options_;
  SystemClock clock_;
  std::vector<Member> members_;
  std::optional<Acceptor> acceptor_;
  Deadline join_by_;
  Deadline beat_at_{};
  std::map<std::string, std::string> values_;
  std::optional<RankFailure> peer_report_;
  Deadline report_until_{};
  std::optional<RankFailure> failure_;
  std::atomic<bool> leaving_{false};
  FileDescriptor wake_;
  std::thread thread_;
};

Coordinator::Coordinator(const SessionOptions& options, const MeetingPoint& place) {
  FileDescriptor listener;
  for (std::size_t i = 0; i < place.ports.size() && !listener; ++i) {
    try {
      listener = listen_on({place.address, place.ports[i]});
    } catch (const Error&) {
      if (i + 1 == place.ports.size()) throw;
    }
  }
  port_ = local_endpoint(listener).port;
  loop_ = std::make_unique<Loop>(options, std::move(listener));
}

Coordinator::~Coordinator() = default;

std::vector<int> ports_of_job(const JobSecret& secret) {
  // From a code computed with the secret, so that the ports reveal nothing about it.
  constexpr std::string_view kLabel = "ports";
  const Mac mixed = compute_mac(secret, std::as_bytes(std::span(kLabel)));
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
