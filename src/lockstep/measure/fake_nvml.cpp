// Replaces NVIDIA's management library in tests: two GPUs, of which the second reports neither
// how busy it is nor a count of joules, only the power it draws.

#include <cstring>

namespace {
int devices[2];
int part_of_second;  // a MIG device
}  // namespace

extern "C" {

struct FakeUtilisation {
  unsigned gpu, memory;
};
struct FakeMemory {
  unsigned long long total, free, used;
};

int nvmlInit_v2() {
  return 0;
}
int nvmlShutdown() {
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= 2) return 6;
  *device = &devices[index];
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  for (int i = 0; i < 2; ++i) {
    const char place[] = {'0', '0', '0', '0', ':', '0', static_cast<char>('1' + i),
                          ':', '0', '0', '.', '0', 0};
    if (std::strcmp(id, place) != 0) continue;
    *device = &devices[i];
    return 0;
  }
  return 6;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  if (std::strcmp(uuid, "GPU-00000001") == 0) return *device = &devices[0], 0;
  if (std::strcmp(uuid, "GPU-00000002") == 0) return *device = &devices[1], 0;
  if (std::strcmp(uuid, "MIG-00000002") == 0) return *device = &part_of_second, 0;
  return 6;
}
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned length) {
  if (length < 13 || (device != &devices[0] && device != &devices[1])) return 2;
  std::strcpy(uuid, device == &devices[1] ? "GPU-00000002" : "GPU-00000001");
  return 0;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void* part, void** whole) {
  if (part != &part_of_second) return 2;
  *whole = &devices[1];
  return 0;
}
int nvmlDeviceGetIndex(void* device, unsigned* index) {
  if (device != &devices[0] && device != &devices[1]) return 2;
  *index = device == &devices[1] ? 1 : 0;
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* device, FakeUtilisation* utilisation) {
  if (device != &devices[0]) return 3;
  *utilisation = {87, 40};
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, FakeMemory* memory) {
  *memory = {16'000'000'000, 4'000'000'000, 12'000'000'000};
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
/// 3 J more at each look.
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  static unsigned long long used = 1'000'000;
  if (device != &devices[0]) return 3;
  *millijoules = used += 3'000;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 50'000;
  return 0;
}
}
