#include "lockstep/measure/busy_processes.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace lockstep::measure {
namespace {

namespace fs = std::filesystem;

/// "123 (a name) S 1 ..." with user and system ticks as fields 14 and 15. The name may contain
/// anything, brackets and blanks among it, so fields count from its last bracket.
bool parse_stat(const std::string& text, double ticks_per_s, ProcessTimes::Entry& entry) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return false;
  entry.name = text.substr(open + 1, close - open - 1);
  std::istringstream fields(text.substr(close + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  if (!(fields >> user >> system)) return false;
  entry.used = Seconds((user + system) / ticks_per_s);
  return true;
}

}  // namespace

ProcessTimes read_process_times(const fs::path& root) {
  const auto ticks_per_s = static_cast<double>(::sysconf(_SC_CLK_TCK));
  ProcessTimes times;
  std::error_code failure;
  for (fs::directory_iterator entry(root / "proc", failure), end; entry != end;
       entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream in(entry->path() / "stat");
    std::string text;
    std::getline(in, text);
    ProcessTimes::Entry process;
    if (parse_stat(text, ticks_per_s, process)) {
      times.processes.emplace(static_cast<pid_t>(std::stol(name)), std::move(process));
    }
  }
  return times;
}

std::vector<BusyProcess> busy_between(const ProcessTimes& before, const ProcessTimes& after,
                                      Seconds interval, double least_cores, pid_t self) {
  std::vector<BusyProcess> busy;
  for (const auto& [pid, process] : after.processes) {
    const auto earlier = before.processes.find(pid);
    if (pid == self || earlier == before.processes.end()) continue;
    const double cores = (process.used - earlier->second.used) / interval;
    if (cores >= least_cores) busy.push_back({pid, process.name, cores});
  }
  std::sort(busy.begin(), busy.end(),
            [](const BusyProcess& a, const BusyProcess& b) { return a.cores > b.cores; });
  return busy;
}

}  // namespace lockstep::measure
