#include "lockstep/measure/nvml.h"

#include <dlfcn.h>

#include <charconv>
#include <string_view>
#include <vector>

namespace lockstep::measure {

// The few functions used, as NVML's reference documents them; 0 is success everywhere.
struct Nvml::Library {
  using Device = void*;
  struct Utilisation {
    unsigned gpu;     ///< percent
    unsigned memory;  ///< percent of time that memory was read or written
  };
  struct Memory {
    unsigned long long total, free, used;
  };

  void* handle = nullptr;
  int (*initialise)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*device_by_index)(unsigned, Device*) = nullptr;
  int (*utilisation)(Device, Utilisation*) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  // Not in every version of the library.
  int (*device_by_pci)(const char*, Device*) = nullptr;
  int (*device_by_uuid)(const char*, Device*) = nullptr;
  int (*whole_of_part)(Device, Device*) = nullptr;
  int (*index)(Device, unsigned*) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*energy)(Device, unsigned long long*) = nullptr;  ///< mJ
  int (*power)(Device, unsigned*) = nullptr;             ///< mW
  bool running = false;

  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (running) shutdown();
    if (handle != nullptr) ::dlclose(handle);
  }

  template <class Function>
  bool find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(handle, name));
    return function != nullptr;
  }

  bool start(const char* path) {
#ifdef LOCKSTEP_STATIC
    return false;  // a static program cannot load libraries on every glibc
#endif
    handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return false;
    const bool complete = find(initialise, "nvmlInit_v2") && find(shutdown, "nvmlShutdown") &&
                          find(device_by_index, "nvmlDeviceGetHandleByIndex_v2") &&
                          find(utilisation, "nvmlDeviceGetUtilizationRates") &&
                          find(memory, "nvmlDeviceGetMemoryInfo");
    find(device_by_pci, "nvmlDeviceGetHandleByPciBusId_v2");
    find(device_by_uuid, "nvmlDeviceGetHandleByUUID");
    find(whole_of_part, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
    find(index, "nvmlDeviceGetIndex");
    find(count, "nvmlDeviceGetCount_v2");
    find(energy, "nvmlDeviceGetTotalEnergyConsumption");
    find(power, "nvmlDeviceGetPowerUsage");
    running = complete && initialise() == 0;
    return running;
  }

  std::optional<int> index_of(Device device) const {
    unsigned found = 0;
    const bool known = index != nullptr && index(device, &found) == 0;
    return known ? std::optional(static_cast<int>(found)) : std::nullopt;
  }
};

std::optional<Nvml> Nvml::open(const std::string& library) {
  auto loaded = std::make_shared<Library>();
  if (!loaded->start(library.c_str())) return std::nullopt;
  return Nvml(std::move(loaded));
}

std::optional<GpuUsage> Nvml::read(int index) const {
  Library::Device device = nullptr;
  if (index < 0 || library_->device_by_index(static_cast<unsigned>(index), &device) != 0) {
    return std::nullopt;
  }
  Library::Utilisation utilisation{};
  Library::Memory memory{};
  if (library_->utilisation(device, &utilisation) != 0) return std::nullopt;
  GpuUsage usage;
  usage.busy = utilisation.gpu / 100.0;
  if (library_->memory(device, &memory) == 0) {
    usage.memory_bytes = static_cast<std::int64_t>(memory.used);
  }
  return usage;
}

std::optional<int> Nvml::index_of_pci(const std::string& id) const {
  Library::Device device = nullptr;
  const bool found =
      library_->device_by_pci != nullptr && library_->device_by_pci(id.c_str(), &device) == 0;
  return found ? library_->index_of(device) : std::nullopt;
}

std::optional<int> Nvml::index_of_uuid(const std::string& uuid) const {
  Library::Device device = nullptr;
  if (library_->device_by_uuid == nullptr || library_->device_by_uuid(uuid.c_str(), &device) != 0) {
    return std::nullopt;
  }
  Library::Device whole = nullptr;
  const bool part = uuid.starts_with("MIG-") && library_->whole_of_part != nullptr &&
                    library_->whole_of_part(device, &whole) == 0;
  return library_->index_of(part ? whole : device);
}

int Nvml::gpus() const {
  unsigned found = 0;
  return library_->count != nullptr && library_->count(&found) == 0 ? static_cast<int>(found) : 0;
}

std::optional<double> Nvml::energy_j(int index) const {
  Library::Device device = nullptr;
  unsigned long long millijoules = 0;
  const bool read = index >= 0 && library_->energy != nullptr &&
                    library_->device_by_index(static_cast<unsigned>(index), &device) == 0 &&
                    library_->energy(device, &millijoules) == 0;
  return read ? std::optional(static_cast<double>(millijoules) * 1e-3) : std::nullopt;
}

std::optional<double> Nvml::power_w(int index) const {
  Library::Device device = nullptr;
  unsigned milliwatts = 0;
  const bool read = index >= 0 && library_->power != nullptr &&
                    library_->device_by_index(static_cast<unsigned>(index), &device) == 0 &&
                    library_->power(device, &milliwatts) == 0;
  return read ? std::optional(milliwatts * 1e-3) : std::nullopt;
}

namespace {

/// The n-th entry of a list between commas; nothing behind its end.
std::optional<std::string> entry_of(std::string_view list, int n) {
  for (; !list.empty(); --n) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (n == 0) return std::string(list.substr(0, comma));
    list.remove_prefix(std::min(list.size(), comma + 1));
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> nvml_index(const Nvml& nvml, const VisibleGpu& gpu,
                              const char* visible_devices) {
  if (!gpu.pci_id.empty()) {
    if (const auto index = nvml.index_of_pci(gpu.pci_id)) return index;
  }
  if (visible_devices == nullptr) return gpu.number;
  const std::optional<std::string> name = entry_of(visible_devices, gpu.number);
  if (!name) return std::nullopt;
  int index = 0;
  const char* const end = name->data() + name->size();
  const auto parsed = std::from_chars(name->data(), end, index);
  const bool is_number = parsed.ec == std::errc{} && parsed.ptr == end && index >= 0;
  return is_number ? std::optional(index) : nvml.index_of_uuid(*name);
}

}  // namespace lockstep::measure
