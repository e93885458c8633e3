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

  /// The index of a GPU by its place on the PCI bus, like "0000:3B:00.0". CUDA may number GPUs in
  /// another order than NVML; this place is the same for both. Nothing for one that does not exist.
  std::optional<int> index_of_pci(const std::string& id) const;
  /// By its UUID, "GPU-..."; for a part of a GPU, "MIG-...", that of the whole.
  std::optional<int> index_of_uuid(const std::string& uuid) const;

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

/// A GPU as a process sees it.
struct VisibleGpu {
  int number = 0;      ///< among those that CUDA shows
  std::string pci_id;  ///< empty where it is not known
};

/// Its index for NVML: by its place on the PCI bus where that is known, else by
/// CUDA_VISIBLE_DEVICES, whose value or null is given: a list of numbers or UUIDs. Nothing if it is
/// not found.
std::optional<int> nvml_index(const Nvml& nvml, const VisibleGpu& gpu, const char* visible_devices);

}  // namespace lockstep::measure
