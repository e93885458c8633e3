#include "lockstep/comm/backends/c10d/gloo_group.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "lockstep/base/error.h"
#include "lockstep/base/system/random_bytes.h"
#include "lockstep/comm/backends/c10d/member_store.h"
#include "lockstep/comm/backends/c10d/rounded_sum.h"
#include "lockstep/comm/rendezvous/deadline.h"

namespace lockstep::comm {
namespace {

using GlooGroup = c10::intrusive_ptr<c10d::ProcessGroupGloo>;

/// Longest wait for a proof: all ranks are connected by then.
constexpr Seconds kProofTime{5};
constexpr int kMostAttempts = 10;

std::chrono::milliseconds milliseconds(Seconds time) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(time.count() * 1000));
}

GlooGroup open_group(const Context& context, const std::string& name) {
  auto store = c10::make_intrusive<MemberStore>(context, name);
  auto settings = c10d::ProcessGroupGloo::Options::create(milliseconds(context.timeout));
  settings->devices = {c10d::ProcessGroupGloo::createDeviceForHostname(context.address)};
  settings->threads = 2;
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, context.rank, context.size, settings);
}

/// A random value of every member, exchanged through the coordinator.
std::vector<std::string> exchange_nonces(const Context& context, const std::string& name) {
  std::string mine(32, '\0');
  fill_random(std::as_writable_bytes(std::span(mine)));
  context.membership->put(fmt::format("{}/nonce/{}", name, context.rank), mine);
  std::vector<std::string> nonces;
  for (int r = 0; r < context.size; ++r) {
    nonces.push_back(context.membership->get(fmt::format("{}/nonce/{}", name, r), context.timeout));
  }
  return nonces;
}

/// Every member sends every other one, on the connection between the two, a code that only this
/// pair of ranks can make and only for this attempt. A process that took the place of a rank cannot
/// get it from the other connections.
void authenticate(c10d::ProcessGroupGloo& group, const Context& context, const std::string& name) {
  const std::vector<std::string> nonces = exchange_nonces(context, name);
  const auto proof = [&](int from, int to) {
    const std::string text = fmt::format("{} {} {} {}", name, from, to, context.size) +
                             nonces[static_cast<std::size_t>(from)] +
                             nonces[static_cast<std::size_t>(to)];
    return compute_mac(context.secret, std::as_bytes(std::span(text)));
  };
  const auto size = static_cast<std::size_t>(context.size);
  std::vector<Mac> sent(size);
  std::vector<Mac> received(size);
  std::vector<c10::intrusive_ptr<c10d::Work>> sends;
  std::vector<c10::intrusive_ptr<c10d::Work>> receipts(size);
  for (int r = 0; r < context.size; ++r) {
    if (r == context.rank) continue;
    const auto peer = static_cast<std::size_t>(r);
    sent[peer] = proof(context.rank, r);
    std::vector<at::Tensor> out{as_tensor(sent[peer])};
    std::vector<at::Tensor> in{as_tensor(received[peer])};
    receipts[peer] = group.recv(in, r, /*tag=*/0);
    sends.push_back(group.send(out, r, /*tag=*/0));
  }
  const auto patience = milliseconds(std::min(context.timeout, kProofTime));
  for (const auto& send : sends) send->wait(patience);
  for (int r = 0; r < context.size; ++r) {
    if (r == context.rank) continue;
    const auto peer = static_cast<std::size_t>(r);
    receipts[peer]->wait(patience);
    if (!equal_in_constant_time(received[peer], proof(r, context.rank))) {
      throw Error(ErrorKind::kPeer, fmt::format("an unauthenticated peer connected as rank {}",
                                                context.world_rank(r)));
    }
  }
}

/// All members learn whether all of them succeeded; returns the first problem, or nothing.
std::string exchange_outcomes(const Context& context, const std::string& name,
                              const std::string& mine) {
  context.membership->put(fmt::format("{}/outcome/{}", name, context.rank), mine);
  std::string first;
  for (int r = 0; r < context.size; ++r) {
    const std::string theirs = context.membership->get(fmt::format("{}/outcome/{}", name, r),
                                                       context.timeout + kProofTime);
    if (first.empty() && !theirs.empty()) {
      first = fmt::format("rank {}: {}", context.world_rank(r), theirs);
    }
  }
  return first;
}

}  // namespace

std::string first_line(const char* text) {
  const char* end = std::strchr(text, '\n');
  return end == nullptr ? text : std::string(text, end);
}

GlooGroup connect_gloo(const Context& context) {
  const Deadline deadline = after(context.timeout);
  for (int attempt = 1;; ++attempt) {
    const std::string name = fmt::format("gloo/{}/{}", context.group, attempt);
    GlooGroup group;
    std::string problem;
    try {
      group = open_group(context, name);
      authenticate(*group, context, name);
    } catch (const std::exception& failure) {
      context.membership->check();
      problem = first_line(failure.what());
      group.reset();
    }
    const std::string failed = exchange_outcomes(context, name, problem);
    if (failed.empty()) return group;
    // The same on all ranks but for the clock, so rank 0 of the group decides.
    const std::string key = fmt::format("{}/retry", name);
    if (context.rank == 0) {
      context.membership->put(key, attempt < kMostAttempts && now() < deadline ? "yes" : "no");
    }
    if (context.membership->get(key, context.timeout) == "yes") continue;
    throw Error(ErrorKind::kPeer, fmt::format("Gloo cannot connect the ranks: {}", failed),
                "choose a network that all hosts share with --interface");
  }
}

}  // namespace lockstep::comm
