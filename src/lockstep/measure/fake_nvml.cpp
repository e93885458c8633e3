// Stands in for NVIDIA's management library in tests: two GPUs, of which the second does not tell
// how busy it is.

namespace {
int devices[2];
}

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
int nvmlDeviceGetUtilizationRates(void* device, FakeUtilisation* utilisation) {
  if (device != &devices[0]) return 3;
  *utilisation = {87, 40};
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, FakeMemory* memory) {
  *memory = {16'000'000'000, 4'000'000'000, 12'000'000'000};
  return 0;
}
}
