#include "lockstep/launch/thread_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <thread>

#include "lockstep/measure/core_map.h"

namespace lockstep::launch {
namespace {

/// Twenty ticks of the kernel's count.
constexpr std::chrono::milliseconds kObserved{200};
/// Nearly all cores taken. With half of them taken the gain is a third, and where the load ends
/// while the run goes on, brief spinning costs more than half of the rate.
constexpr double kBusy = 0.75;
/// Turns of libgomp's loop, whose own default is 300,000. On two cores with four to nine other
/// processes, one worker of two threads trained fashion 5 to 11 times as fast with it.
constexpr int kBriefSpin = 1000;

struct Ticks {
  std::int64_t busy = 0;
  std::int64_t all = 0;
};

/// By hardware thread: "cpu0 user nice system idle iowait irq softirq steal ...".
std::map<int, Ticks> ticks_in(std::string_view text) {
  constexpr std::size_t kIdle = 3, kIoWait = 4, kSteal = 7;
  std::map<int, Ticks> found;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("cpu") || line.starts_with("cpu ")) continue;
    std::istringstream fields(line.substr(3));
    int cpu = -1;
    fields >> cpu;
    Ticks ticks;
    std::int64_t value = 0;
    // Time of guests, which follows, is contained in that of users.
    for (std::size_t i = 0; i <= kSteal && fields >> value; ++i) {
      ticks.all += value;
      if (i != kIdle && i != kIoWait) ticks.busy += value;
    }
    if (cpu >= 0) found[cpu] = ticks;
  }
  return found;
}

std::string kernel_ticks() {
  std::ifstream file("/proc/stat");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Those that the workers may run on.
std::vector<int> cpus_of(const CorePlan& plan) {
  std::vector<int> cpus;
  for (const std::vector<int>& share : plan.cpus) {
    cpus.insert(cpus.end(), share.begin(), share.end());
  }
  return cpus.empty() ? measure::affinity_threads() : cpus;
}

bool is_set_by_user() {
  return std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr;
}

}  // namespace

double busy_part(std::string_view before, std::string_view after, std::span<const int> cpus) {
  const std::map<int, Ticks> first = ticks_in(before);
  const std::map<int, Ticks> last = ticks_in(after);
  Ticks sum;
  for (const int cpu : cpus) {
    const auto from = first.find(cpu);
    const auto to = last.find(cpu);
    if (from == first.end() || to == last.end()) continue;
    sum.busy += to->second.busy - from->second.busy;
    sum.all += to->second.all - from->second.all;
  }
  if (sum.all <= 0) return 0;
  return std::clamp(static_cast<double>(sum.busy) / static_cast<double>(sum.all), 0.0, 1.0);
}

std::vector<std::string> thread_wait_environment(const CorePlan& plan) {
  if (plan.threads_per_worker < 2 || is_set_by_user()) return {};
  const std::string before = kernel_ticks();
  std::this_thread::sleep_for(kObserved);
  if (busy_part(before, kernel_ticks(), cpus_of(plan)) < kBusy) return {};
  return {fmt::format("GOMP_SPINCOUNT={}", kBriefSpin)};
}

}  // namespace lockstep::launch
