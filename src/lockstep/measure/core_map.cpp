#include "lockstep/measure/core_map.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "lockstep/base/units.h"
#include "lockstep/measure/machine.h"

namespace lockstep::measure {
namespace {

namespace fs = std::filesystem;

std::optional<int> number_in(const fs::path& path) {
  std::ifstream in(path);
  int value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

/// Memory node of a hardware thread, from a link like cpu3/node1.
int node_of(const fs::path& cpu) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(cpu, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("node")) continue;
    int node = 0;
    const char* end = name.data() + name.size();
    if (std::from_chars(name.data() + 4, end, node).ptr == end) return node;
  }
  return 0;
}

}  // namespace

std::vector<Core> cores_of(std::span<const int> threads, const fs::path& root) {
  // Numbers of cores repeat in every package, and on some machines in every die.
  using Place = std::tuple<int, int, int>;
  std::map<Place, std::size_t> known;
  std::vector<Core> cores;
  for (const int thread : threads) {
    const fs::path cpu = root / fmt::format("sys/devices/system/cpu/cpu{}", thread);
    const auto core = number_in(cpu / "topology/core_id");
    if (!core) {
      cores.push_back({{thread}, node_of(cpu)});
      continue;
    }
    const Place place{number_in(cpu / "topology/physical_package_id").value_or(0),
                      number_in(cpu / "topology/die_id").value_or(0), *core};
    const auto [at, is_new] = known.emplace(place, cores.size());
    if (is_new) cores.push_back({{}, node_of(cpu)});
    cores[at->second].threads.push_back(thread);
  }
  std::sort(cores.begin(), cores.end(), [](const Core& a, const Core& b) {
    return std::tie(a.node, a.threads) < std::tie(b.node, b.threads);
  });
  return cores;
}

int hardware_threads(std::span<const Core> cores) {
  std::size_t count = 0;
  for (const Core& core : cores) count += core.threads.size();
  return static_cast<int>(count);
}

std::string number_list(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::string text;
  for (std::size_t first = 0; first < numbers.size();) {
    std::size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(numbers[first]);
    if (last > first) text += fmt::format("-{}", numbers[last]);
    first = last + 1;
  }
  return text;
}

std::vector<std::string> describe_nodes(std::span<const Core> cores) {
  std::map<int, std::vector<Core>> nodes;
  for (const Core& core : cores) nodes[core.node].push_back(core);
  std::vector<std::string> lines;
  for (const auto& [node, members] : nodes) {
    std::vector<int> threads;
    for (const Core& core : members)
      threads.insert(threads.end(), core.threads.begin(), core.threads.end());
    lines.push_back(fmt::format("node {}: {}, CPU{} {}", node, counted(std::ssize(members), "core"),
                                threads.size() == 1 ? "" : "s", number_list(threads)));
  }
  return lines;
}

std::vector<int> affinity_threads() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::vector<int> threads;
  if (::sched_getaffinity(0, sizeof mask, &mask) == 0) {
    for (int thread = 0; thread < CPU_SETSIZE; ++thread) {
      if (CPU_ISSET(thread, &mask)) threads.push_back(thread);
    }
  }
  if (threads.empty()) threads.push_back(0);
  return threads;
}

std::vector<Core> usable_cores() {
  std::vector<Core> cores = cores_of(affinity_threads());
  if (const auto limit = read_group_limits().cores) {
    const auto whole = static_cast<std::size_t>(std::max(1.0, std::floor(*limit)));
    if (whole < cores.size()) cores.resize(whole);
  }
  // Slurm binds the processes of a job only where its task plug-in is set up to.
  const char* given = std::getenv("SLURM_CPUS_ON_NODE");
  const std::string_view text = given == nullptr ? "" : given;
  int cpus = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), cpus);
  if (problem == std::errc() && end == text.data() + text.size() && cpus > 0) {
    cores = at_most(std::move(cores), cpus);
  }
  return cores;
}

std::vector<Core> at_most(std::vector<Core> cores, int threads) {
  while (cores.size() > 1 && hardware_threads(cores) > threads) cores.pop_back();
  return cores;
}

bool bound_to_cores() {
  return affinity_threads().size() < static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace lockstep::measure
