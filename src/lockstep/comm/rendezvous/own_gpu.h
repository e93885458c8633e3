#pragma once

#include <string>
#include <vector>

namespace lockstep::comm {

/// Which of the GPUs that a process sees is its own: the only one, where the starter gave each rank
/// its own (srun --gpus-per-task=1), else the one with the number of the rank on its host.
int own_gpu(int local_rank, int visible);

/// What distinguishes the GPU from others of its host: its PCI id, and with a MIG instance, of
/// which CUDA shows a process one at most, also the name of that in CUDA_VISIBLE_DEVICES (its value
/// or null is given).
std::string gpu_id(const std::string& pci_id, const char* visible_devices);
/// The PCI id in it.
std::string pci_id_in(const std::string& gpu_id);

/// A rank's GPU among those of all hosts.
std::string gpu_of_host(const std::string& host, const std::string& gpu_id);

/// Throws kEnvironment when two ranks have the same entry: each would wait for the other inside
/// NCCL, or both would be slow. Empty entries are not compared.
void require_distinct_gpus(const std::vector<std::string>& gpu_of_rank,
                           const std::string& more_advice = "");

}  // namespace lockstep::comm
