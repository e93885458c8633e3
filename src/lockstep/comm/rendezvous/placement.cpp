#include "lockstep/comm/rendezvous/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "lockstep/base/error.h"
#include "lockstep/comm/rendezvous/node_list.h"
#include "lockstep/record/worker_environment.h"

namespace lockstep::comm {
namespace {

namespace environment = record::worker_environment;

constexpr const char* kLoopback = "127.0.0.1";

std::string text_of(const GetEnvironment& get, const char* name) {
  const char* text = get(name);
  return text == nullptr ? "" : text;
}

std::optional<int> read_number(const GetEnvironment& get, const char* name) {
  const char* text = get(name);
  if (text == nullptr) return std::nullopt;
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, problem] = std::from_chars(text, end, value);
  if (problem != std::errc() || stop != end || value < 0) {
    throw Error(ErrorKind::kUsage, fmt::format("{}='{}' is not a whole number", name, text),
                "start workers through lockstep train, mpirun, srun or torchrun");
  }
  return value;
}

int need_number(const GetEnvironment& get, const char* name) {
  if (const auto value = read_number(get, name)) return *value;
  throw Error(ErrorKind::kUsage, fmt::format("{} is missing in the environment", name),
              "start workers through lockstep train, mpirun, srun or torchrun");
}

/// Of "335413248.0;tcp://192.0.2.7,10.0.0.7:54905;tcp6://...": the first address, that of mpirun's
/// host, where rank 0 runs unless a host file specifies otherwise.
std::string address_of_mpirun(const std::string& uri) {
  const std::size_t scheme = uri.find("tcp://");
  if (scheme == std::string::npos) return "";
  const std::size_t begin = scheme + std::strlen("tcp://");
  return uri.substr(begin, uri.find_first_of(",:;", begin) - begin);
}

void read_lockstep(const GetEnvironment& get, Placement& place) {
  place.starter = "lockstep";
  place.rank = need_number(get, environment::kRank);
  place.size = read_number(get, environment::kWorldSize).value_or(1);
  place.local_rank = read_number(get, environment::kLocalRank).value_or(place.rank);
  place.local_size = read_number(get, environment::kLocalSize).value_or(place.size);
  place.nodes = read_number(get, environment::kNodes).value_or(1);
  place.shared_memory_fd = read_number(get, environment::kSharedMemory);
  place.rendezvous_host = kLoopback;
  place.job = text_of(get, environment::kJob);
}

void read_open_mpi(const GetEnvironment& get, Placement& place) {
  place.starter = "openmpi";
  place.mpi = true;
  place.rank = need_number(get, "OMPI_COMM_WORLD_RANK");
  place.size = need_number(get, "OMPI_COMM_WORLD_SIZE");
  place.local_rank = need_number(get, "OMPI_COMM_WORLD_LOCAL_RANK");
  place.local_size = need_number(get, "OMPI_COMM_WORLD_LOCAL_SIZE");
  place.nodes = read_number(get, "OMPI_MCA_orte_num_nodes").value_or(1);
  // The second is a random number that mpirun makes for each job.
  place.job = fmt::format("openmpi {} {}", text_of(get, "PMIX_NAMESPACE"),
                          text_of(get, "OMPI_MCA_orte_precondition_transports"));
  const bool one_host = place.local_size == place.size;
  place.rendezvous_host =
      one_host ? kLoopback : address_of_mpirun(text_of(get, "OMPI_MCA_orte_hnp_uri"));
}

void read_torchrun(const GetEnvironment& get, Placement& place) {
  place.starter = "torchrun";
  place.rank = need_number(get, "RANK");
  place.size = need_number(get, "WORLD_SIZE");
  place.local_rank = read_number(get, "LOCAL_RANK").value_or(0);
  place.local_size = read_number(get, "LOCAL_WORLD_SIZE").value_or(1);
  place.nodes = std::max(1, place.size / std::max(1, place.local_size));
  place.job = fmt::format("torchrun {} {} {} {}", text_of(get, "TORCHELASTIC_RUN_ID"),
                          text_of(get, "TORCHELASTIC_RESTART_COUNT"), text_of(get, "MASTER_ADDR"),
                          text_of(get, "MASTER_PORT"));
}

void read_slurm(const GetEnvironment& get, Placement& place) {
  place.starter = "slurm";
  place.mpi = get("PMIX_RANK") != nullptr;
  place.rank = need_number(get, "SLURM_PROCID");
  place.size = need_number(
      get, get("SLURM_STEP_NUM_TASKS") != nullptr ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS");
  place.local_rank = need_number(get, "SLURM_LOCALID");
  const int node = read_number(get, "SLURM_NODEID").value_or(0);
  const char* tasks = get("SLURM_STEP_TASKS_PER_NODE");
  place.local_size =
      tasks != nullptr ? tasks_of_node(tasks, node) : std::max(1, place.local_rank + 1);
  place.job = fmt::format("slurm {} {} {}", text_of(get, "SLURM_CLUSTER_NAME"),
                          text_of(get, "SLURM_JOB_ID"), text_of(get, "SLURM_STEP_ID"));
  std::string list = text_of(get, "SLURM_STEP_NODELIST");
  if (list.empty()) list = text_of(get, "SLURM_JOB_NODELIST");
  const auto nodes = expand_node_list(list);
  place.nodes = static_cast<int>(nodes.size());
  place.rendezvous_host = nodes.size() == 1 ? kLoopback : nodes.front();
}

void read_starter(const GetEnvironment& get, Placement& place) {
  if (get(environment::kRank) != nullptr) return read_lockstep(get, place);
  if (get("OMPI_COMM_WORLD_RANK") != nullptr) return read_open_mpi(get, place);
  if (get("RANK") != nullptr && get("WORLD_SIZE") != nullptr && get("MASTER_ADDR") != nullptr) {
    return read_torchrun(get, place);
  }
  // The script of a batch job has the other variables too, but is not a step.
  if (get("SLURM_STEP_ID") != nullptr && get("SLURM_PROCID") != nullptr) read_slurm(get, place);
}

void set_rendezvous(const GetEnvironment& get, const std::string& host, const std::string& port,
                    const char* name, Placement& place) {
  place.rendezvous_host = host;
  int value = 0;
  const auto [stop, problem] = std::from_chars(port.data(), port.data() + port.size(), value);
  if (host.empty() || problem != std::errc() || stop != port.data() + port.size() || value < 1 ||
      value > 65535) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{}: '{}:{}' is not a host and a port", name, host, port),
                "for example 10.0.0.1:29500");
  }
  place.rendezvous_port = value;
}

void read_rendezvous(const GetEnvironment& get, Placement& place) {
  if (const std::string given = text_of(get, environment::kRendezvous); !given.empty()) {
    const std::size_t colon = given.rfind(':');
    if (colon == std::string::npos) {
      place.rendezvous_host = given;
      return;
    }
    const std::string port = given.substr(colon + 1);
    return set_rendezvous(get, given.substr(0, colon), port, environment::kRendezvous, place);
  }
  if (place.starter == "lockstep" || get("MASTER_ADDR") == nullptr) return;
  const std::string host = text_of(get, "MASTER_ADDR");
  const std::string port = text_of(get, "MASTER_PORT");
  // With that variable torchrun itself listens on the port.
  if (port.empty() || text_of(get, "TORCHELASTIC_USE_AGENT_STORE") == "True") {
    place.rendezvous_host = host;
    return;
  }
  set_rendezvous(get, host, port, "MASTER_ADDR and MASTER_PORT", place);
}

}  // namespace

int tasks_of_node(const std::string& tasks_per_node, int node) {
  const auto fail = [&]() -> int {
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' contains no number of tasks for node {}", tasks_per_node, node),
                "for example SLURM_STEP_TASKS_PER_NODE=2(x3),1");
  };
  const char* at = tasks_per_node.data();
  const char* end = at + tasks_per_node.size();
  while (at < end) {
    int tasks = 0;
    int nodes = 1;
    auto read = std::from_chars(at, end, tasks);
    if (read.ec != std::errc() || tasks < 1) return fail();
    at = read.ptr;
    if (end - at > 2 && at[0] == '(' && at[1] == 'x') {
      read = std::from_chars(at + 2, end, nodes);
      if (read.ec != std::errc() || nodes < 1 || read.ptr == end || *read.ptr != ')') return fail();
      at = read.ptr + 1;
    }
    if (node < nodes) return tasks;
    node -= nodes;
    if (at < end && *at++ != ',') return fail();
  }
  return fail();
}

Placement placement_from_environment(const GetEnvironment& get) {
  Placement place;
  read_starter(get, place);
  if (!place.starter.empty()) read_rendezvous(get, place);
  if (place.size < 1 || place.rank >= place.size || place.local_size < 1 ||
      place.local_size > place.size || place.local_rank >= place.local_size) {
    throw Error(ErrorKind::kUsage,
                fmt::format("rank {} of {} (local {} of {}) is invalid", place.rank, place.size,
                            place.local_rank, place.local_size),
                "start workers through lockstep train, mpirun, srun or torchrun");
  }
  return place;
}

}  // namespace lockstep::comm
