#pragma once

#include <string>
#include <vector>

namespace lockstep::comm {

/// Which of the GPUs that a process sees is its own: the only one, where the starter gave each rank
/// its own (srun --gpus-per-task=1), else the one with the number of the rank on its host.
int own_gpu(int local_rank, int visible);

/// A rank's GPU among those of all hosts.
std::string gpu_of_host(const std::string& host, const std::string& pci_id);

/// Throws kEnvironment when two ranks have the same entry: each would wait for the other inside
/// NCCL, or both would be slow. Empty entries are not compared.
void require_distinct_gpus(const std::vector<std::string>& gpu_of_rank);

}  // namespace lockstep::comm
