#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace lockstep::measure {

/// A physical core.
struct Core {
  std::vector<int> threads;  ///< its hardware threads, by the numbers of the kernel; at least one
  int node = 0;              ///< memory node
};

/// The cores that have these hardware threads, by memory node, neighbours together. Read from /sys
/// under `root`; where it does not say, a hardware thread is a core.
std::vector<Core> cores_of(std::span<const int> threads, const std::filesystem::path& root = "/");

/// Number of hardware threads.
int hardware_threads(std::span<const Core> cores);

/// "0-3,8": numbers as the kernel lists them.
std::string number_list(std::vector<int> numbers);

/// One line per memory node: "node 0: 8 cores, CPUs 0-7,16-23".
std::vector<std::string> describe_nodes(std::span<const Core> cores);

/// The hardware threads of this process's affinity mask, in ascending order.
std::vector<int> affinity_threads();

/// The cores this process may use: those of its affinity mask, cut to as many as its control groups
/// let it use at a time, and as Slurm gave its job on this host. Where they cut it, any core of the
/// mask may serve, not only those in the list.
std::vector<Core> usable_cores();

/// As many of the cores as have at most `threads` hardware threads; at least one.
std::vector<Core> at_most(std::vector<Core> cores, int threads);

/// Whether the affinity mask leaves out a part of this host, as for a task that srun or mpirun
/// bound to its cores.
bool bound_to_cores();

}  // namespace lockstep::measure
