#include "lockstep/measure/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string_view>

#include "lockstep/measure/core_map.h"

namespace lockstep::measure {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '"'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{} || result.ptr == text.data()) return std::nullopt;
  return value;
}

/// The value of the first line that begins with `name`; lines look like "name<separator> value".
std::string value_of(const fs::path& file, std::string_view name, char separator) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t at = line.find(separator);
    if (at == std::string::npos || trimmed(std::string_view(line).substr(0, at)) != name) continue;
    return std::string(trimmed(std::string_view(line).substr(at + 1)));
  }
  return "";
}

std::int64_t meminfo_bytes(const fs::path& root, std::string_view name) {
  return whole_number(value_of(root / "proc/meminfo", name, ':')).value_or(0) * 1024;
}

/// Lowers `limit` to `value` where that is a smaller positive number.
template <class T>
void lower(std::optional<T>& limit, std::optional<T> value) {
  if (value && *value > 0 && (!limit || *value < *limit)) limit = value;
}

std::optional<double> version2_cores(const fs::path& group) {
  std::istringstream fields(first_line(group / "cpu.max"));  // "150000 100000" or "max 100000"
  double quota = 0;
  double period = 0;
  if (!(fields >> quota >> period) || period <= 0) return std::nullopt;
  return quota / period;
}

std::optional<double> version1_cores(const fs::path& group) {
  const auto quota = whole_number(first_line(group / "cpu.cfs_quota_us"));
  const auto period = whole_number(first_line(group / "cpu.cfs_period_us"));
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<std::int64_t> version1_memory(const fs::path& group) {
  const auto bytes = whole_number(first_line(group / "memory.limit_in_bytes"));
  // Without a limit the kernel shows the largest number of pages it can count.
  constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;
  return bytes && *bytes < kNoLimit ? bytes : std::nullopt;
}

/// Calls `visit` with the folder of `group` below `mount` and with those of the groups above it.
template <class Visit>
void visit_upwards(const fs::path& mount, const std::string& group, Visit&& visit) {
  fs::path relative = fs::path(group).relative_path();
  while (true) {
    visit(mount / relative);
    if (relative.empty()) return;
    relative = relative.parent_path();
  }
}

std::string system_name(const fs::path& root) {
  std::string name = value_of(root / "etc/os-release", "PRETTY_NAME", '=');
  utsname kernel{};
  if (::uname(&kernel) == 0) {
    name += fmt::format("{}{} {}", name.empty() ? "" : ", ", kernel.sysname, kernel.release);
  }
  return name;
}

}  // namespace

CpuFacts read_cpu(const fs::path& root) {
  const fs::path info = root / "proc/cpuinfo";
  CpuFacts facts;
  facts.vendor = value_of(info, "vendor_id", ':');
  facts.model = value_of(info, "model name", ':');
  std::istringstream flags(value_of(info, "flags", ':'));
  for (std::string flag; flags >> flag;) facts.flags.push_back(flag);
  return facts;
}

GroupLimits read_group_limits(const fs::path& root) {
  GroupLimits limits;
  const fs::path mount = root / "sys/fs/cgroup";
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {  // "4:memory:/group" or "0::/group"
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      visit_upwards(mount, group, [&](const fs::path& folder) {
        lower(limits.cores, version2_cores(folder));
        lower(limits.memory_bytes, whole_number(first_line(folder / "memory.max")));
      });
    } else if (controllers.find(",cpu,") != std::string::npos) {
      visit_upwards(mount / "cpu", group,
                    [&](const fs::path& folder) { lower(limits.cores, version1_cores(folder)); });
    } else if (controllers.find(",memory,") != std::string::npos) {
      visit_upwards(mount / "memory", group, [&](const fs::path& folder) {
        lower(limits.memory_bytes, version1_memory(folder));
      });
    }
  }
  return limits;
}

std::string read_governor(const fs::path& root) {
  return first_line(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
}

std::int64_t read_memory_bytes(const fs::path& root) {
  return meminfo_bytes(root, "MemTotal");
}

std::int64_t read_available_memory_bytes(const fs::path& root) {
  return meminfo_bytes(root, "MemAvailable");
}

std::vector<std::string> read_nvidia_gpus(const fs::path& root) {
  std::vector<std::string> models;
  std::error_code missing;
  for (fs::directory_iterator gpu(root / "proc/driver/nvidia/gpus", missing), end; gpu != end;
       gpu.increment(missing)) {
    models.push_back(value_of(gpu->path() / "information", "Model", ':'));
  }
  std::sort(models.begin(), models.end());
  return models;
}

record::Machine describe_machine() {
  record::Machine machine;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) machine.host = host.data();
  machine.system = system_name("/");
  machine.cpu = read_cpu().model;
  machine.cores = static_cast<int>(usable_cores().size());
  machine.memory_bytes = read_memory_bytes();
  if (const auto limit = read_group_limits().memory_bytes) {
    machine.memory_bytes = std::min(machine.memory_bytes, *limit);
  }
  machine.gpus = read_nvidia_gpus();
  machine.governor = read_governor();
  return machine;
}

}  // namespace lockstep::measure
