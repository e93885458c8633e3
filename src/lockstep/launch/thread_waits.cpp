#include "lockstep/launch/thread_waits.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "lockstep/measure/core_map.h"
#include "lockstep/measure/others_share.h"

namespace lockstep::launch {
namespace {

/// Somewhat more than the twenty ticks that OthersMeter needs.
constexpr std::chrono::milliseconds kObserved{220};
/// Before that, a few glances at what runs at the moment: on an idle machine they are enough.
constexpr int kGlances = 5;
constexpr std::chrono::milliseconds kBetweenGlances{4};
/// Nearly all cores taken. With half of them taken the gain is a third, and where the load ends
/// while the run goes on, brief spinning costs more than half of the rate.
constexpr double kBusy = 0.75;
/// Turns of libgomp's loop, whose own default is 300,000. On two cores with four to nine other
/// processes, one worker of two threads trained fashion 5 to 11 times as fast with it.
constexpr int kBriefSpin = 1000;

/// Those that the workers may run on.
std::vector<int> cpus_of(const CorePlan& plan) {
  std::vector<int> cpus;
  for (const std::vector<int>& share : plan.cpus) {
    cpus.insert(cpus.end(), share.begin(), share.end());
  }
  return cpus.empty() ? measure::affinity_threads() : cpus;
}

/// Whether at some of a few moments enough other processes ran to keep nearly all of `cpus` busy.
bool may_be_busy(std::size_t cpus) {
  for (int glance = 0; glance < kGlances; ++glance) {
    if (glance > 0) std::this_thread::sleep_for(kBetweenGlances);
    std::ifstream stat("/proc/stat");
    const std::string text{std::istreambuf_iterator<char>(stat), {}};
    if (running_processes(text) - 1 >= kBusy * static_cast<double>(cpus)) return true;
  }
  return false;
}

bool is_set_by_user() {
  return std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr;
}

}  // namespace

int running_processes(std::string_view stat) {
  constexpr std::string_view kName = "\nprocs_running ";
  const std::size_t at = stat.find(kName);
  int count = 0;
  if (at != std::string_view::npos) {
    std::from_chars(stat.data() + at + kName.size(), stat.data() + stat.size(), count);
  }
  return count;
}

std::vector<std::string> thread_wait_environment(const CorePlan& plan) {
  if (plan.threads_per_worker < 2 || is_set_by_user()) return {};
  std::vector<std::string> brief{fmt::format("GOMP_SPINCOUNT={}", kBriefSpin)};
  if (plan.oversubscribed) return brief;
  const std::vector<int> cpus = cpus_of(plan);
  if (!may_be_busy(cpus.size())) return {};
  const measure::OthersMeter others(cpus);
  std::this_thread::sleep_for(kObserved);
  if (others.share().value_or(0) < kBusy) return {};
  return brief;
}

}  // namespace lockstep::launch
