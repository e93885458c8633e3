#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/base/units.h"
#include "lockstep/measure/nvml.h"
#include "lockstep/record/utilisation.h"

namespace lockstep::measure {

/// What this process has used so far.
struct ProcessUsage {
  double cpu_s = 0;  ///< user and system time of all its threads
  std::int64_t resident_bytes = 0;
};

/// Resident bytes are 0 if /proc does not report them.
ProcessUsage read_process_usage();

/// Keeps a bounded number of samples however many are added: once there are too many, neighbours
/// are merged and what they cover is twice as long. Means are weighted by time.
class UtilisationLog {
 public:
  explicit UtilisationLog(std::size_t most) : most_(most) {}

  void add(const record::Utilisation& sample);
  /// Returns the samples and starts over.
  std::vector<record::Utilisation> take();

 private:
  std::size_t most_;
  std::vector<record::Utilisation> samples_;
};

/// Samples this process, and its GPU if it has one, from a separate thread: one reading of two
/// counters each interval, which costs a negligible part of a step.
class UtilisationSampler {
 public:
  /// At most this many samples between two calls of take().
  static constexpr std::size_t kKept = 16;

  /// `gpu`: nothing for a CPU worker.
  UtilisationSampler(const Clock& clock, int rank, const std::optional<VisibleGpu>& gpu,
                     Seconds interval = Seconds(0.5));
  ~UtilisationSampler();
  UtilisationSampler(const UtilisationSampler&) = delete;
  UtilisationSampler& operator=(const UtilisationSampler&) = delete;

  /// Samples since the last call, ending now; they are labelled with the epoch.
  std::vector<record::Utilisation> take(int epoch);

 private:
  void run();
  void sample();

  const Clock& clock_;
  int rank_;
  std::optional<int> gpu_;
  Seconds interval_;
  std::optional<Nvml> nvml_;
  Nanoseconds began_;
  Nanoseconds last_;
  ProcessUsage usage_;
  UtilisationLog log_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace lockstep::measure
