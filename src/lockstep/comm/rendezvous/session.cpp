#include "lockstep/comm/rendezvous/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/base/system/loopback.h"
#include "lockstep/comm/rendezvous/network_address.h"

namespace lockstep::comm {
namespace {

/// The same on all ranks of rank 0's host, by any name of the host.
std::string meeting_address(const Placement& place) {
  if (place.rendezvous_host.empty()) {
    throw Error(ErrorKind::kEnvironment, "the environment does not name the host of rank 0",
                "set LOCKSTEP_RENDEZVOUS=ADDRESS:PORT on every rank");
  }
  const std::string address = host_address(place.rendezvous_host);
  // Debian maps a host's own name to 127.0.1.1, which other hosts cannot reach.
  return is_loopback(address) && place.nodes > 1 ? outward_address() : address;
}

}  // namespace

Session::Session(SessionOptions options) : options_(std::move(options)) {
  // Before any rank waits for this one, so that an unknown network is reported at once.
  if (!options_.interface.empty()) address_ = interface_address(options_.interface);
  join();
  exchange_hosts();
  if (address_.empty()) address_ = membership_->local_address();
}

void Session::join() {
  const Placement& place = options_.place;
  MeetingPoint meeting{meeting_address(place), ports_of_job(options_.secret)};
  if (place.rendezvous_port != 0) meeting.ports = {place.rendezvous_port};
  if (place.rank == 0) {
    coordinator_ = std::make_unique<Coordinator>(options_, meeting);
    meeting.ports = {coordinator_->port()};
  }
  membership_ = std::make_unique<Membership>(options_, meeting);
}

void Session::exchange_hosts() {
  membership_->put(fmt::format("identity/{}", options_.place.rank), host_identity());
  std::vector<std::string> identities;
  for (int rank = 0; rank < options_.place.size; ++rank) {
    // The coordinator times out first, and names the missing ranks.
    identities.push_back(
        membership_->get(fmt::format("identity/{}", rank), options_.timeout + Seconds(2)));
  }
  hosts_ = group_by_host(identities);
}

Context Session::context(std::vector<int> ranks) {
  const Placement& place = options_.place;
  Context context;
  context.rank = place.rank;
  context.size = place.size;
  if (!ranks.empty()) {
    const auto found = std::find(ranks.begin(), ranks.end(), place.rank);
    context.rank = found == ranks.end() ? -1 : static_cast<int>(found - ranks.begin());
    context.size = static_cast<int>(ranks.size());
    context.world_ranks = std::move(ranks);
  }
  context.timeout = options_.timeout;
  context.spin = options_.spin ? context.spin : Seconds(0);
  context.group = fmt::format("group-{}", ++groups_);
  context.address = address_;
  context.secret = options_.secret;
  context.membership = membership_.get();
  return context;
}

}  // namespace lockstep::comm
