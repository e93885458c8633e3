#include "lockstep/measure/visible_gpus.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace lockstep::measure {
namespace {

/// As CUDA counts: up to the first entry that is no device ("-1", Slurm's "NoDevFiles"), and one
/// MIG instance at most.
int listed_gpus(std::string_view list) {
  int count = 0;
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(','));
    if (entry.starts_with("MIG-")) return std::max(count, 1);
    const bool number = entry.find_first_not_of("0123456789") == std::string_view::npos;
    if (entry.empty() || !(number || entry.starts_with("GPU-"))) break;
    ++count;
    list.remove_prefix(std::min(list.size(), entry.size() + 1));
  }
  return count;
}

}  // namespace

int visible_gpus(const char* visible_devices, const std::string& driver_folder) {
  if (visible_devices != nullptr) {
    return listed_gpus(visible_devices);
  }
  std::error_code problem;
  int count = 0;
  for (std::filesystem::directory_iterator at(driver_folder, problem), end; !problem && at != end;
       at.increment(problem)) {
    ++count;
  }
  return count;
}

}  // namespace lockstep::measure
