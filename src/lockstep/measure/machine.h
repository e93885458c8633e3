#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/record/machine.h"

namespace lockstep::measure {

/// The processors as the kernel describes them.
struct CpuFacts {
  std::string
      vendor;  ///< "AuthenticAMD", "GenuineIntel", ...; empty if the kernel does not report it
  std::string model;
  std::vector<std::string> flags;
};

/// Limits that the control groups of this process set: the lowest of all groups up the tree.
struct GroupLimits {
  std::optional<double> cores;
  std::optional<std::int64_t> memory_bytes;
};

/// The facts below are read from /proc, /sys and /etc under `root`, which tests replace. What is
/// not there stays empty or zero; nothing throws.
CpuFacts read_cpu(const std::filesystem::path& root = "/");
GroupLimits read_group_limits(const std::filesystem::path& root = "/");
/// CPU frequency governor of the first core; empty if the kernel has none, as in most virtual
/// machines.
std::string read_governor(const std::filesystem::path& root = "/");
std::int64_t read_memory_bytes(const std::filesystem::path& root = "/");
std::int64_t read_available_memory_bytes(const std::filesystem::path& root = "/");
std::vector<std::string> read_nvidia_gpus(const std::filesystem::path& root = "/");

/// All of it, as a run records it.
record::Machine describe_machine();

}  // namespace lockstep::measure
