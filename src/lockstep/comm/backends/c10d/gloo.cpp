#include "lockstep/comm/backends/c10d/gloo.h"

#include <fmt/format.h>
#include <signal.h>
#include <torch/torch.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>
#include <deque>
#include <optional>

#include "lockstep/base/error.h"
#include "lockstep/comm/backends/backend_entry.h"
#include "lockstep/comm/backends/c10d/gloo_group.h"
#include "lockstep/comm/backends/c10d/rounded_sum.h"
#include "lockstep/comm/backends/sum_across_ranks.h"
#include "lockstep/comm/rendezvous/attendance.h"
#include "lockstep/comm/rendezvous/membership.h"
#include "lockstep/comm/rendezvous/peer_watch.h"
#include "lockstep/comm/wire/rounded_areas.h"

namespace lockstep::comm {
namespace {

/// How long after its connections closed the end of a killed process may be seen.
constexpr std::chrono::milliseconds kEndIsSeenWithin{500};
/// How often a wait checks whether the run is lost.
constexpr std::chrono::milliseconds kCheckInterval{1000};

/// Identifies a rank to the others of its host.
struct Identity {
  char host[HOST_NAME_MAX + 1] = {};
  pid_t pid = 0;
};

Identity identify() {
  Identity identity;
  ::gethostname(identity.host, HOST_NAME_MAX);
  identity.pid = ::getpid();
  return identity;
}

class Gloo final : public Communicator {
 public:
  explicit Gloo(const Context& context)
      : Communicator(context.rank, context.size), context_(context), group_(connect_gloo(context)) {
    const Identity own = identify();
    std::vector<pid_t> pids;
    for (const Identity& peer : gather_all(own)) {
      const bool here = std::strcmp(peer.host, own.host) == 0 && peer.pid != own.pid;
      pids.push_back(here ? peer.pid : 0);
    }
    watch_.emplace(pids);
  }

  record::Backend backend() const override { return record::Backend::kGloo; }

  std::span<float> allocate(std::size_t count) override {
    tensors_.push_back(torch::zeros({static_cast<std::int64_t>(count)}));
    return {tensors_.back().data_ptr<float>(), count};
  }

  void round_sums(std::span<float> values, Wire wire) override { rounded_.add(values, wire); }

  void start_sum(std::span<float> values) override {
    const RoundedAreas::Split split = rounded_.split(values);
    translate("all-reduce", [&] {
      if (!split.rounded.empty()) rounding_.emplace_back(*group_, split.rounded, split.wire);
      if (split.exact.empty()) return;
      std::vector<at::Tensor> view{
          torch::from_blob(split.exact.data(), {static_cast<std::int64_t>(split.exact.size())})};
      pending_.push_back(group_->allreduce(view));
    });
  }

  void finish() override {
    attendance_.next();
    translate("all-reduce", [&] {
      for (RoundedSum& sum : rounding_) {
        await(sum.work());
        sum.proceed();
      }
      for (; !rounding_.empty(); rounding_.pop_front()) {
        await(rounding_.front().work());
        rounding_.front().finish();
      }
      for (; !pending_.empty(); pending_.pop_front()) await(*pending_.front());
    });
  }

  void sum_to_root(std::span<float> values, int root) override {
    if (values.empty()) return;
    attendance_.next();
    translate("gather", [&] {
      const auto count = static_cast<std::int64_t>(values.size());
      std::vector<at::Tensor> input{torch::from_blob(values.data(), {count})};
      std::vector<std::vector<at::Tensor>> output;
      if (rank() == root) {
        if (gathered_.numel() < size() * count) gathered_ = torch::empty({size() * count});
        output.emplace_back();
        for (int r = 0; r < size(); ++r) output[0].push_back(gathered_.narrow(0, r * count, count));
      }
      c10d::GatherOptions options;
      options.rootRank = root;
      await(*group_->gather(output, input, options));
      if (rank() != root) return;
      std::vector<float*> copies;
      for (const auto& part : output[0]) copies.push_back(part.data_ptr<float>());
      sum_into_root(copies, 0, values.size());
      std::copy_n(copies[0], values.size(), values.data());
    });
  }

  void broadcast(std::span<std::byte> bytes, int root) override {
    if (bytes.empty()) return;
    attendance_.next();
    translate("broadcast", [&] {
      std::vector<at::Tensor> view{as_tensor(bytes)};
      c10d::BroadcastOptions options;
      options.rootRank = root;
      await(*group_->broadcast(view, options));
    });
  }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    if (mine.empty()) return;
    attendance_.next();
    translate("gather", [&] {
      std::vector<at::Tensor> input{as_tensor(mine)};
      std::vector<std::vector<at::Tensor>> output(1);
      for (int r = 0; r < size(); ++r) {
        output[0].push_back(
            as_tensor(all.subspan(static_cast<std::size_t>(r) * mine.size(), mine.size())));
      }
      await(*group_->allgather(output, input));
    });
  }

 private:
  /// Waits in slices, so that a lost run ends the wait.
  void await(c10d::Work& work) {
    while (true) {
      try {
        work.wait(kCheckInterval);
        return;
      } catch (const std::exception&) {
        if (work.isCompleted()) {
          work.wait();  // throws what the operation threw, if it did
          return;
        }
        context_.membership->check();
        attendance_.announce();
      }
    }
  }

  /// Runs `call` and turns exceptions of c10d and Gloo into kPeer, naming the dead rank where it
  /// can be determined.
  template <class Call>
  void translate(const char* what, Call&& call) {
    const auto began = std::chrono::steady_clock::now();
    try {
      call();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& problem) {
      context_.membership->check();
      // The sockets of a killed process close a moment before its end can be seen.
      std::vector<int> gone = watch_ ? watch_->gone(kEndIsSeenWithin) : std::vector<int>{};
      for (int& rank : gone) rank = context_.world_rank(rank);
      if (!gone.empty()) {
        throw Error(ErrorKind::kPeer, fmt::format("{} died before the {}", name_ranks(gone), what),
                    "see its output for the cause");
      }
      // Gloo's own time began when the sum was submitted.
      if (Seconds(std::chrono::steady_clock::now() - began) > context_.timeout / 2)
        throw attendance_.timed_out(what);
      throw Error(ErrorKind::kPeer,
                  fmt::format("the {} failed: {}", what, first_line(problem.what())),
                  "another rank died, hung or lost its connection; see its output");
    }
  }

  Context context_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  Attendance attendance_{context_};
  std::optional<PeerWatch> watch_;
  std::deque<at::Tensor> tensors_;
  at::Tensor gathered_;
  RoundedAreas rounded_;
  std::deque<RoundedSum> rounding_;
  std::deque<c10::intrusive_ptr<c10d::Work>> pending_;
};

}  // namespace

std::unique_ptr<Communicator> make_gloo(const Context& context) {
  // Gloo's writes raise SIGPIPE after a peer's death, which would end this process without a word.
  struct sigaction present {};
  ::sigaction(SIGPIPE, nullptr, &present);
  if (present.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
  return std::make_unique<Gloo>(context);
}

BackendEntry gloo_backend() {
  return {.make = [](Session& session, const std::vector<int>& ranks) {
    const Context context = session.context(ranks);
    return context.rank < 0 ? nullptr : make_gloo(context);
  }};
}

}  // namespace lockstep::comm
