#include "lockstep/comm/session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lockstep/comm/hierarchical.h"
#include "lockstep/comm/network_address.h"
#include "lockstep/comm/shared_memory.h"
#include "lockstep/comm/tcp.h"

namespace lockstep::comm {
namespace {

/// The same on all ranks of rank 0's host, whatever that host calls itself.
std::string meeting_address(const Placement& place) {
  if (place.rendezvous_host.empty()) {
    throw Error(ErrorKind::kEnvironment, "the environment does not tell on which host rank 0 is",
                "set LOCKSTEP_RENDEZVOUS=ADDRESS:PORT on every rank");
  }
  const std::string address = host_address(place.rendezvous_host);
  // Debian lets a host's own name be 127.0.1.1, where other hosts cannot come.
  return is_loopback(address) && place.nodes > 1 ? outward_address() : address;
}

}  // namespace

Session::Session(SessionOptions options) : options_(std::move(options)) {
  // Before any rank waits for this one: a network that is not there is told at once.
  if (!options_.interface.empty()) address_ = interface_address(options_.interface);
  meet();
  learn_hosts();
  if (address_.empty()) address_ = membership_->local_address();
}

Session::~Session() {
  if (shared_memory_ >= 0) ::close(shared_memory_);
}

void Session::meet() {
  const Placement& place = options_.place;
  const std::string address = meeting_address(place);
  std::vector<int> ports = ports_of_job(options_.secret);
  if (place.rendezvous_port != 0) ports = {place.rendezvous_port};
  if (place.rank == 0) {
    CoordinatorOptions coordinator;
    coordinator.address = address;
    coordinator.ports = ports;
    coordinator.secret = options_.secret;
    coordinator.size = place.size;
    coordinator.join = options_.timeout;
    coordinator.silence = options_.silence;
    coordinator.on_failure = options_.on_failure;
    coordinator_ = std::make_unique<Coordinator>(std::move(coordinator));
    ports = {coordinator_->port()};
  }
  MembershipOptions membership;
  membership.host = address;
  membership.ports = ports;
  membership.secret = options_.secret;
  membership.rank = place.rank;
  membership.size = place.size;
  membership.host_name = host_name();
  membership.join = options_.timeout;
  membership.silence = options_.silence;
  membership.grace = options_.grace;
  membership_ = std::make_unique<Membership>(std::move(membership));
}

void Session::learn_hosts() {
  membership_->put(fmt::format("identity/{}", options_.place.rank), host_identity());
  std::vector<std::string> identities;
  for (int rank = 0; rank < options_.place.size; ++rank) {
    // The coordinator gives up first, and names who is missing.
    identities.push_back(
        membership_->get(fmt::format("identity/{}", rank), options_.timeout + Seconds(2)));
  }
  hosts_ = group_by_host(identities);
}

std::string Session::resolve(const std::string& backend) const {
  if (backend != "auto") return backend;
  if (hosts_.hosts() == 1) return "shm";
  return hosts_.hosts() < options_.place.size ? "hierarchical" : "tcp";
}

/// The lowest rank of a host makes an anonymous file, the others open it through /proc: it has no
/// name, so nothing is left behind whatever dies.
int Session::shared_memory_of_host() {
  if (shared_memory_ >= 0) return shared_memory_;
  const int rank = options_.place.rank;
  const int leader = hosts_.neighbours(rank).front();
  const std::string key = fmt::format("memory/{}", leader);
  if (rank == leader) {
    shared_memory_ = ::memfd_create("lockstep", MFD_CLOEXEC);
    membership_->put(key, fmt::format("/proc/{}/fd/{}", ::getpid(), shared_memory_));
  } else {
    const std::string path = membership_->get(key, options_.timeout);
    shared_memory_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  }
  if (shared_memory_ < 0) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("cannot share memory with rank {}: {}", leader, std::strerror(errno)),
                "use --backend tcp");
  }
  return shared_memory_;
}

std::unique_ptr<Communicator> Session::make_local() {
  const int rank = options_.place.rank;
  return make_shared_memory({.fd = shared_memory_of_host(),
                             .rank = hosts_.local_rank(rank),
                             .size = static_cast<int>(hosts_.neighbours(rank).size()),
                             .timeout = options_.timeout,
                             .spin = Seconds(options_.spin ? 50e-6 : 0),
                             .world_ranks = hosts_.neighbours(rank)});
}

std::unique_ptr<Communicator> Session::make(const std::string& backend) {
  TcpMesh::Options mesh;
  mesh.rank = options_.place.rank;
  mesh.size = options_.place.size;
  for (int rank = 0; rank < mesh.size; ++rank) mesh.world_ranks.push_back(rank);
  mesh.group = fmt::format("all-{}", ++communicators_);
  mesh.address = address_;
  mesh.secret = options_.secret;
  mesh.timeout = options_.timeout;
  if (backend == "tcp") return make_tcp(mesh, *membership_);
  if (backend == "shm") {
    if (hosts_.hosts() == 1) return make_local();
    throw Error(ErrorKind::kUsage, "--backend shm serves workers of one host only",
                "use --backend hierarchical or tcp");
  }
  if (backend == "hierarchical") {
    auto local = make_local();
    const std::vector<int> leaders = hosts_.leaders();
    const auto place = std::find(leaders.begin(), leaders.end(), mesh.rank);
    std::unique_ptr<Communicator> across;
    if (place != leaders.end() && leaders.size() > 1) {
      mesh.rank = static_cast<int>(place - leaders.begin());
      mesh.size = static_cast<int>(leaders.size());
      mesh.world_ranks = leaders;
      mesh.group = fmt::format("leaders-{}", communicators_);
      across = make_tcp(mesh, *membership_);
    }
    return make_hierarchical(options_.place.rank, hosts_, std::move(local), std::move(across));
  }
  throw Error(ErrorKind::kUsage, fmt::format("--backend {} is unknown", backend));
}

}  // namespace lockstep::comm
