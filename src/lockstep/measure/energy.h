#pragma once

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/base/units.h"
#include "lockstep/measure/nvml.h"

namespace lockstep::measure {

/// Joules that this host has used, by whatever ran on it.
struct HostEnergy {
  double processors_j = 0;  ///< packages and their memory
  double gpus_j = 0;
};

/// Reads the energy counters of this host: those of its processors (RAPL, through the kernel's
/// powercap folder) and of its GPUs (NVML). Not thread-safe.
class EnergyMeter {
 public:
  /// Where the counters are; tests give others.
  struct Places {
    std::filesystem::path powercap = "/sys/class/powercap";
    std::string nvml = "libnvidia-ml.so.1";
    const char* visible_gpus = nullptr;  ///< CUDA_VISIBLE_DEVICES
  };
  explicit EnergyMeter(const Places& places);
  /// Of this host, with the GPUs that CUDA_VISIBLE_DEVICES leaves.
  EnergyMeter();

  bool processors() const { return !zones_.empty(); }
  bool gpus() const { return !gpus_.empty(); }

  /// Since the meter was made. To be called more often than counters wrap around (minutes); `now`
  /// is for GPUs that report power only.
  HostEnergy read(Nanoseconds now);

  /// "RAPL: package-0, dram; NVML: 2 GPUs", or why nothing can be read. `with_gpus`: as total().
  std::string source(bool with_gpus) const;

 private:
  struct Zone {
    std::string name;
    std::filesystem::path counter;
    double last_j = 0;
    double range_j = 0;  ///< where the counter begins again
  };
  struct Gpu {
    int index = 0;
    std::optional<double> last_j;  ///< absent: only power is known
  };
  void find_zones(const std::filesystem::path& powercap);
  void find_gpus(const char* visible);

  std::vector<Zone> zones_;
  std::vector<Gpu> gpus_;
  std::optional<Nvml> nvml_;
  std::string problem_;  ///< why processors cannot be read
  HostEnergy used_;
  Nanoseconds read_at_ = 0;
};

/// Reads the meter from a thread of its own, as long as it lives.
class EnergySampler {
 public:
  explicit EnergySampler(const Clock& clock, EnergyMeter meter = EnergyMeter(),
                         Seconds interval = Seconds(0.5));
  ~EnergySampler();
  EnergySampler(const EnergySampler&) = delete;
  EnergySampler& operator=(const EnergySampler&) = delete;

  /// Joules between two moments of the clock; GPUs count where the run uses them. Nothing where
  /// nothing can be read, or where the run uses GPUs and these do not report it. Moments between
  /// two samples are interpolated.
  std::optional<double> between(Nanoseconds from, Nanoseconds to, bool with_gpus);
  /// Since the start.
  std::optional<double> total(bool with_gpus);
  std::string source(bool with_gpus) const { return meter_.source(with_gpus); }
  bool has_gpus() const { return meter_.gpus(); }

 private:
  struct Sample {
    Nanoseconds at = 0;
    HostEnergy used;
  };
  /// More are halved.
  static constexpr std::size_t kMostSamples = 65'536;

  void run();
  void sample();
  bool readable(bool with_gpus) const;
  double at(Nanoseconds moment, bool with_gpus) const;

  const Clock& clock_;
  EnergyMeter meter_;
  Seconds interval_;
  std::vector<Sample> samples_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace lockstep::measure
