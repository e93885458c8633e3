#include "lockstep/measure/process_tree.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace lockstep::measure {
namespace {

namespace fs = std::filesystem;

struct TreeEntry {
  pid_t parent = 0;
  std::int64_t highest_bytes = 0;
  std::int64_t resident_bytes = 0;
};

/// Lines such as "PPid:\t12" and "VmHWM:\t  340 kB" of /proc/PID/status.
TreeEntry read_status(const fs::path& path) {
  std::ifstream file(path);
  TreeEntry entry;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t value = 0;
    if (!(words >> name >> value)) continue;
    if (name == "PPid:") entry.parent = static_cast<pid_t>(value);
    if (name == "VmHWM:") entry.highest_bytes = value * 1024;
    if (name == "VmRSS:") entry.resident_bytes = value * 1024;
  }
  return entry;
}

std::map<pid_t, TreeEntry> read_all(const fs::path& root) {
  std::map<pid_t, TreeEntry> found;
  std::error_code failure;
  for (fs::directory_iterator entry(root / "proc", failure), end; entry != end;
       entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    found[static_cast<pid_t>(std::stol(name))] = read_status(entry->path() / "status");
  }
  return found;
}

}  // namespace

TreeUsage read_tree_usage(pid_t ancestor, const fs::path& root) {
  const std::map<pid_t, TreeEntry> all = read_all(root);
  const auto descends = [&](pid_t pid) {
    // Bounded: ids that were reused while /proc was read could form a ring.
    for (std::size_t depth = 0; depth < all.size(); ++depth) {
      const auto entry = all.find(pid);
      if (entry == all.end()) return false;
      pid = entry->second.parent;
      if (pid == ancestor) return true;
    }
    return false;
  };
  TreeUsage usage;
  for (const auto& [pid, entry] : all) {
    if (entry.resident_bytes == 0 || !descends(pid)) continue;
    ++usage.processes;
    usage.largest_bytes = std::max(usage.largest_bytes, entry.highest_bytes);
    usage.resident_bytes += entry.resident_bytes;
  }
  return usage;
}

TreeSampler::TreeSampler(Seconds interval) : thread_([this, interval] { run(interval); }) {}

TreeSampler::~TreeSampler() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::int64_t TreeSampler::largest_bytes() const {
  const std::lock_guard lock(mutex_);
  return most_.largest_bytes;
}

std::int64_t TreeSampler::most_resident_bytes() const {
  const std::lock_guard lock(mutex_);
  return most_.resident_bytes;
}

void TreeSampler::run(Seconds interval) {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    const TreeUsage now = read_tree_usage(::getpid());
    lock.lock();
    most_.processes = std::max(most_.processes, now.processes);
    most_.largest_bytes = std::max(most_.largest_bytes, now.largest_bytes);
    most_.resident_bytes = std::max(most_.resident_bytes, now.resident_bytes);
    wake_.wait_for(lock, interval, [this] { return stopping_; });
  }
}

}  // namespace lockstep::measure
