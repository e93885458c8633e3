#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "lockstep/base/units.h"

namespace lockstep::measure {

/// Processor time that each process has used since it started, by process id.
struct ProcessTimes {
  struct Entry {
    std::string name;
    Seconds used{0};
  };
  std::map<pid_t, Entry> processes;
};

/// Those that exist now, of all users. Reads /proc under `root`; never throws.
ProcessTimes read_process_times(const std::filesystem::path& root = "/");

/// A process that takes time from a measurement.
struct BusyProcess {
  pid_t pid = 0;
  std::string name;
  double cores = 0;  ///< how many it kept busy
};

/// Those that kept at least `least_cores` busy between two readings `interval` apart, the busiest
/// first. `self` is left out.
std::vector<BusyProcess> busy_between(const ProcessTimes& before, const ProcessTimes& after,
                                      Seconds interval, double least_cores, pid_t self);

}  // namespace lockstep::measure
