#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace lockstep::measure {

struct GpuUsage {
  double busy = 0;                ///< share of the last moments with a kernel running, 0 .. 1
  std::int64_t memory_bytes = 0;  ///< used by all processes
};

/// NVIDIA's management library, loaded at run time if it is installed: neither its headers nor
/// the library are needed to build.
class Nvml {
 public:
  /// Nothing if there is no such library or it finds no driver.
  static std::optional<Nvml> open(const std::string& library = "libnvidia-ml.so.1");

  /// Nothing for a GPU that does not exist or does not report them. Does not block for longer than
  /// a millisecond or two.
  std::optional<GpuUsage> read(int index) const;

  /// Of the host; 0 where the library does not report it.
  int gpus() const;
  /// Joules since the driver was loaded. Nothing where the GPU does not count them.
  std::optional<double> energy_j(int index) const;
  /// What the GPU draws now, in watts. Nothing where it does not report it.
  std::optional<double> power_w(int index) const;

 private:
  struct Library;
  explicit Nvml(std::shared_ptr<const Library> library) : library_(std::move(library)) {}

  std::shared_ptr<const Library> library_;
};

/// Which of the host's GPUs the n-th that CUDA shows is, by CUDA_VISIBLE_DEVICES; its value or null
/// is given. Nothing if that names GPUs in another way than by number.
std::optional<int> physical_gpu(int visible, const char* visible_devices);

}  // namespace lockstep::measure
