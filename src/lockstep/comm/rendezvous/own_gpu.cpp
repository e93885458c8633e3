#include "lockstep/comm/rendezvous/own_gpu.h"

#include <fmt/format.h>

#include <map>

#include "lockstep/base/error.h"

namespace lockstep::comm {

int own_gpu(int local_rank, int visible) {
  return visible == 1 ? 0 : local_rank;
}

std::string gpu_id(const std::string& pci_id, const char* visible_devices) {
  const std::string_view list(visible_devices != nullptr ? visible_devices : "");
  if (pci_id.empty() || !list.starts_with("MIG-")) return pci_id;
  return fmt::format("{} {}", pci_id, list.substr(0, list.find(',')));
}

std::string pci_id_in(const std::string& gpu_id) {
  return gpu_id.substr(0, gpu_id.find(' '));
}

std::string gpu_of_host(const std::string& host, const std::string& gpu_id) {
  return gpu_id.empty() ? "" : fmt::format("{} of {}", gpu_id, host);
}

void require_distinct_gpus(const std::vector<std::string>& gpu_of_rank,
                           const std::string& more_advice) {
  std::map<std::string, std::size_t> first;
  for (std::size_t rank = 0; rank < gpu_of_rank.size(); ++rank) {
    const std::string& gpu = gpu_of_rank[rank];
    if (gpu.empty()) continue;
    const auto [entry, is_new] = first.emplace(gpu, rank);
    if (is_new) continue;
    throw Error(ErrorKind::kEnvironment,
                fmt::format("ranks {} and {} share the GPU {}", entry->second, rank, gpu),
                "start one worker per GPU, or give each task its own (srun --gpus-per-task=1)" +
                    more_advice);
  }
}

}  // namespace lockstep::comm
