#include "lockstep/measure/visible_gpus.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace lockstep::measure {

int visible_gpus(const char* visible_devices, const std::string& driver_folder) {
  if (visible_devices != nullptr) {
    const std::string_view list(visible_devices);
    return list.empty() ? 0 : static_cast<int>(1 + std::count(list.begin(), list.end(), ','));
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
