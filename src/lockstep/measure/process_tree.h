#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <thread>

#include "lockstep/base/units.h"

namespace lockstep::measure {

/// What the descendants of a process use at one moment.
struct TreeUsage {
  int processes = 0;
  std::int64_t largest_bytes = 0;   ///< the highest resident set that any of them has had
  std::int64_t resident_bytes = 0;  ///< of all together, now; shared pages count in each
};

/// Of all descendants of `ancestor`, itself not among them. Processes that end while /proc is read
/// are left out. `root` is the folder that has proc, for tests.
TreeUsage read_tree_usage(pid_t ancestor, const std::filesystem::path& root = "/");

/// Samples the descendants of this process from a separate thread, as long as it exists.
class TreeSampler {
 public:
  explicit TreeSampler(Seconds interval = Seconds(0.5));
  ~TreeSampler();
  TreeSampler(const TreeSampler&) = delete;
  TreeSampler& operator=(const TreeSampler&) = delete;

  /// The highest resident set of any one process so far; 0 when none was seen.
  std::int64_t largest_bytes() const;
  /// The most that all had together at one sample.
  std::int64_t most_resident_bytes() const;

 private:
  void run(Seconds interval);

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  TreeUsage most_;
  std::thread thread_;
};

}  // namespace lockstep::measure
