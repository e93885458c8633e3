#include "lockstep/comm/c10d/gloo.h"

#include <fmt/format.h>
#include <torch/torch.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <chrono>
#include <climits>
#include <cstring>
#include <deque>
#include <optional>

#include "lockstep/base/error.h"
#include "lockstep/comm/c10d/member_store.h"
#include "lockstep/comm/c10d/proved_device.h"
#include "lockstep/comm/c10d/rounded_sum.h"
#include "lockstep/comm/peer_watch.h"
#include "lockstep/comm/rounded_areas.h"
#include "lockstep/comm/sum_across_ranks.h"
#include "lockstep/comm/tcp_mesh.h"

namespace lockstep::comm {
namespace {

constexpr std::chrono::milliseconds kEndIsSeenWithin{500};

/// Who a rank is to the others of its host.
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

std::chrono::milliseconds milliseconds(Seconds time) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(time.count() * 1000));
}

/// Gloo's messages carry a source position and an address; the first line is what a person needs.
std::string first_line(const char* text) {
  const char* end = std::strchr(text, '\n');
  return end == nullptr ? text : std::string(text, end);
}

/// All connections of this rank, each proved by both ends.
std::vector<Socket> proved_connections(const GlooOptions& options, Membership& membership) {
  TcpMesh::Options mesh;
  mesh.rank = options.rank;
  mesh.size = options.size;
  for (int rank = 0; rank < options.size; ++rank) mesh.world_ranks.push_back(rank);
  mesh.group = "gloo";
  mesh.address = options.address;
  mesh.secret = options.secret;
  mesh.timeout = options.timeout;
  return TcpMesh(mesh, membership).take_sockets();
}

class Gloo final : public Communicator {
 public:
  Gloo(const GlooOptions& options, Membership& membership)
      : Communicator(options.rank, options.size),
        timeout_(options.timeout),
        membership_(membership) {
    translate("start", [&] {
      auto store = c10::make_intrusive<MemberStore>(membership, timeout_);
      auto settings = c10d::ProcessGroupGloo::Options::create(milliseconds(timeout_));
      settings->devices = {
          has_proved_device()
              ? make_proved_device(proved_connections(options, membership), timeout_)
              : c10d::ProcessGroupGloo::createDeviceForHostname(options.address)};
      settings->threads = 2;
      group_ =
          c10::make_intrusive<c10d::ProcessGroupGloo>(store, options.rank, options.size, settings);
    });
    require_proofs(options.secret);
    const Identity own = identify();
    std::vector<pid_t> pids;
    for (const Identity& peer : gather_all(own)) {
      const bool here = std::strcmp(peer.host, own.host) == 0 && peer.pid != own.pid;
      pids.push_back(here ? peer.pid : 0);
    }
    watch_.emplace(pids);
  }

  std::string_view backend() const override { return "gloo"; }

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
    translate("all-reduce", [&] {
      for (RoundedSum& sum : rounding_) sum.meet();
      for (; !rounding_.empty(); rounding_.pop_front()) rounding_.front().finish();
      for (; !pending_.empty(); pending_.pop_front()) pending_.front()->wait();
    });
  }

  void sum_to_root(std::span<float> values, int root) override {
    if (values.empty()) return;
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
      group_->gather(output, input, options)->wait();
      if (rank() != root) return;
      std::vector<float*> copies;
      for (const auto& part : output[0]) copies.push_back(part.data_ptr<float>());
      sum_into_root(copies, 0, values.size());
      std::copy_n(copies[0], values.size(), values.data());
    });
  }

  void broadcast(std::span<std::byte> bytes, int root) override {
    if (bytes.empty()) return;
    translate("broadcast", [&] {
      std::vector<at::Tensor> view{as_tensor(bytes)};
      c10d::BroadcastOptions options;
      options.rootRank = root;
      group_->broadcast(view, options)->wait();
    });
  }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    if (mine.empty()) return;
    translate("gather", [&] {
      std::vector<at::Tensor> input{as_tensor(mine)};
      std::vector<std::vector<at::Tensor>> output(1);
      for (int r = 0; r < size(); ++r) {
        output[0].push_back(
            as_tensor(all.subspan(static_cast<std::size_t>(r) * mine.size(), mine.size())));
      }
      group_->allgather(output, input)->wait();
    });
  }

 private:
  static at::Tensor as_tensor(std::span<const std::byte> bytes) {
    return torch::from_blob(const_cast<std::byte*>(bytes.data()),
                            {static_cast<std::int64_t>(bytes.size())}, torch::kUInt8);
  }

  /// Every rank shows all others that it knows the secret, on the connections that will carry the
  /// gradients: where Gloo made them itself, a stranger may be at the other end.
  void require_proofs(const JobSecret& secret) {
    const auto proof = [&](int rank) {
      const std::string text = fmt::format("gloo {} {}", rank, size());
      return hmac_sha256(secret, std::as_bytes(std::span(text)));
    };
    const auto proofs = gather_all(proof(rank()));
    for (int r = 0; r < size(); ++r) {
      if (equal_in_constant_time(proofs[static_cast<std::size_t>(r)], proof(r))) continue;
      throw Error(ErrorKind::kPeer,
                  fmt::format("who connected as rank {} does not belong to this run", r));
    }
  }

  /// Runs `call` and turns what c10d and Gloo throw into kPeer, naming the dead rank where it can
  /// be known.
  template <class Call>
  void translate(const char* what, Call&& call) {
    try {
      call();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& problem) {
      membership_.check();
      // The sockets of a killed process close a moment before its end can be seen.
      const std::vector<int> gone = watch_ ? watch_->gone(kEndIsSeenWithin) : std::vector<int>{};
      if (!gone.empty()) {
        throw Error(ErrorKind::kPeer, fmt::format("{} died before the {}", name_ranks(gone), what),
                    "its own output says why");
      }
      throw Error(ErrorKind::kPeer,
                  fmt::format("the {} failed: {}", what, first_line(problem.what())),
                  "another rank died, hung or lost its connection; see its output");
    }
  }

  Seconds timeout_;
  Membership& membership_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  std::optional<PeerWatch> watch_;
  std::deque<at::Tensor> tensors_;
  at::Tensor gathered_;
  RoundedAreas rounded_;
  std::deque<RoundedSum> rounding_;
  std::deque<c10::intrusive_ptr<c10d::Work>> pending_;
};

}  // namespace

std::unique_ptr<Communicator> make_gloo(const GlooOptions& options, Membership& membership) {
  return std::make_unique<Gloo>(options, membership);
}

}  // namespace lockstep::comm
