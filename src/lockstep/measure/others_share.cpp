#include "lockstep/measure/others_share.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "lockstep/measure/core_map.h"

namespace lockstep::measure {
namespace {

/// Below that a single tick is a visible part.
constexpr double kLeastTicks = 20;

CpuTicks ticks_now(const std::vector<int>& cpus) {
  std::ifstream file("/proc/stat");
  return cpu_ticks(std::string(std::istreambuf_iterator<char>(file), {}), cpus);
}

double used_s(int who) {
  rusage usage{};
  if (::getrusage(who, &usage) != 0) return 0;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double own_time() {
  return used_s(RUSAGE_SELF) + used_s(RUSAGE_CHILDREN);
}

/// Where a control group allows less than these hardware threads, nothing is known.
std::vector<int> threads_of_this_process() {
  std::vector<int> threads = affinity_threads();
  if (usable_cores().size() < cores_of(threads).size()) threads.clear();
  return threads;
}

}  // namespace

CpuTicks cpu_ticks(std::string_view text, const std::vector<int>& cpus) {
  // "cpu0 user nice system idle iowait irq softirq steal guest guest_nice"
  constexpr std::size_t kIdle = 3, kIoWait = 4, kSteal = 7;
  CpuTicks sum;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("cpu") || line.starts_with("cpu ")) continue;
    std::istringstream fields(line.substr(3));
    int cpu = -1;
    if (!(fields >> cpu) || std::find(cpus.begin(), cpus.end(), cpu) == cpus.end()) continue;
    double value = 0;
    // Time of guests, which follows, is contained in that of users.
    for (std::size_t i = 0; i <= kSteal && fields >> value; ++i) {
      sum.all += value;
      if (i != kIdle && i != kIoWait) sum.busy += value;
    }
  }
  return sum;
}

OthersMeter::OthersMeter(std::vector<int> cpus)
    : cpus_(std::move(cpus)), ticks_(ticks_now(cpus_)), own_s_(own_time()) {}

OthersMeter::OthersMeter() : OthersMeter(threads_of_this_process()) {}

std::optional<double> OthersMeter::share() const {
  const CpuTicks now = ticks_now(cpus_);
  const double all = now.all - ticks_.all;
  if (all < kLeastTicks * static_cast<double>(std::max<std::size_t>(1, cpus_.size()))) {
    return std::nullopt;
  }
  const double own = (own_time() - own_s_) * static_cast<double>(::sysconf(_SC_CLK_TCK));
  return std::clamp((now.busy - ticks_.busy - own) / all, 0.0, 1.0);
}

}  // namespace lockstep::measure
