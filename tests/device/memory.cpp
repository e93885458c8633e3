#include "memory.h"

#include <c10/util/Exception.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "ordering.h"
#include "streams.h"

namespace device_double {
namespace {

constexpr std::size_t kBytesPerDevice = std::size_t{4} << 30;
constexpr std::size_t kAlignment = 512;
/// NaN in any float type: what nobody wrote must not look like a number.
constexpr int kGarbage = 0xFF;

struct Mapping {
  std::byte* closed = nullptr;
  std::byte* open = nullptr;
  std::size_t bytes = 0;

  Mapping() : bytes(kBytesPerDevice * static_cast<std::size_t>(kDevices)) {
    const int file = ::memfd_create("device-double", MFD_CLOEXEC);
    TORCH_CHECK(file >= 0 && ::ftruncate(file, static_cast<off_t>(bytes)) == 0, "no memory file");
    closed = map(file, PROT_NONE);
    open = map(file, PROT_READ | PROT_WRITE);
    ::close(file);
  }

  std::byte* map(int file, int access) const {
    void* at = ::mmap(nullptr, bytes, access, MAP_SHARED | MAP_NORESERVE, file, 0);
    TORCH_CHECK(at != MAP_FAILED, "cannot map the memory of the device double");
    return static_cast<std::byte*>(at);
  }
};

const Mapping& mapping() {
  static const auto* const mapped = new Mapping;
  return *mapped;
}

struct Block {
  std::size_t begin = 0;
  std::size_t bytes = 0;
  int owner = 0;  ///< the stream it was allocated on
  std::set<int> recorded;
};

/// Freed blocks are used again on their own stream only, as LibTorch's allocator does.
struct Blocks {
  std::map<std::pair<int, std::size_t>, std::vector<std::size_t>> free;
  std::map<std::size_t, Block> used;
  std::size_t next[kDevices] = {};

  static Blocks& instance() {
    static auto* const blocks = new Blocks;
    return *blocks;
  }
};

std::size_t limit_bytes() {
  const char* limit = std::getenv("DEVICE_DOUBLE_BYTES");
  return limit != nullptr ? std::strtoull(limit, nullptr, 10) : kBytesPerDevice;
}

void give_back(void* pointer) {
  Blocks& blocks = Blocks::instance();
  const std::lock_guard lock(world());
  const auto entry = blocks.used.find(offset_of(pointer));
  const Block block = entry->second;
  blocks.used.erase(entry);
  Ordering::instance().release(block.begin, block.begin + block.bytes, block.owner, block.recorded);
  std::memset(mapping().open + block.begin, kGarbage, block.bytes);
  blocks.free[{block.owner, block.bytes}].push_back(block.begin);
}

struct DeviceAllocator final : c10::Allocator {
  c10::DataPtr allocate(std::size_t wanted) const override {
    const c10::Device device(c10::kCUDA, current_device());
    if (wanted == 0) return {nullptr, device};
    const std::size_t bytes = (wanted + kAlignment - 1) / kAlignment * kAlignment;
    const int stream = current_stream(device.index());
    Blocks& blocks = Blocks::instance();
    const std::lock_guard lock(world());
    std::size_t begin = 0;
    auto& free = blocks.free[{stream, bytes}];
    if (!free.empty()) {
      begin = free.back();
      free.pop_back();
    } else {
      std::size_t& next = blocks.next[device.index()];
      if (next + bytes > limit_bytes()) {
        TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ", bytes,
                         " bytes");
      }
      begin = kBytesPerDevice * static_cast<std::size_t>(device.index()) + next;
      next += bytes;
      std::memset(mapping().open + begin, kGarbage, bytes);
    }
    blocks.used[begin] = {.begin = begin, .bytes = bytes, .owner = stream, .recorded = {}};
    void* pointer = mapping().closed + begin;
    return {pointer, pointer, &give_back, device};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }
};

struct Pinned {
  std::map<const std::byte*, std::size_t> ranges;

  static Pinned& instance() {
    static auto* const pinned = new Pinned;
    return *pinned;
  }
};

void unpin(void* pointer) {
  Pinned& pinned = Pinned::instance();
  const std::lock_guard lock(world());
  pinned.ranges.erase(static_cast<const std::byte*>(pointer));
  std::free(pointer);
}

struct PinnedAllocator final : c10::Allocator {
  c10::DataPtr allocate(std::size_t bytes) const override {
    if (bytes == 0) return {nullptr, c10::Device(c10::kCPU)};
    void* pointer =
        std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    Pinned& pinned = Pinned::instance();
    const std::lock_guard lock(world());
    pinned.ranges[static_cast<const std::byte*>(pointer)] = bytes;
    return {pointer, pointer, &unpin, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &unpin; }
};

}  // namespace

std::byte* open_address(const void* device_pointer) {
  return device_pointer == nullptr ? nullptr : mapping().open + offset_of(device_pointer);
}

bool is_device_memory(const void* pointer) {
  const auto* address = static_cast<const std::byte*>(pointer);
  return address >= mapping().closed && address < mapping().closed + mapping().bytes;
}

std::size_t offset_of(const void* device_pointer) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(device_pointer) - mapping().closed);
}

int device_of(const void* device_pointer) {
  return static_cast<int>(offset_of(device_pointer) / kBytesPerDevice);
}

c10::Allocator* device_allocator() {
  static DeviceAllocator allocator;
  return &allocator;
}

c10::Allocator* pinned_allocator() {
  static PinnedAllocator allocator;
  return &allocator;
}

bool is_pinned(const void* pointer) {
  Pinned& pinned = Pinned::instance();
  const std::lock_guard lock(world());
  const auto* address = static_cast<const std::byte*>(pointer);
  auto after = pinned.ranges.upper_bound(address);
  if (after == pinned.ranges.begin()) return false;
  const auto& [begin, bytes] = *std::prev(after);
  return address < begin + bytes;
}

void pin_range(const void* begin, std::size_t bytes) {
  const std::lock_guard lock(world());
  Pinned::instance().ranges[static_cast<const std::byte*>(begin)] = bytes;
}

bool unpin_range(const void* begin) {
  const std::lock_guard lock(world());
  return Pinned::instance().ranges.erase(static_cast<const std::byte*>(begin)) == 1;
}

void note_stream(const c10::DataPtr& memory, int stream) {
  Blocks& blocks = Blocks::instance();
  const std::lock_guard lock(world());
  const auto entry = blocks.used.find(offset_of(memory.get()));
  if (entry != blocks.used.end()) entry->second.recorded.insert(stream);
}

}  // namespace device_double
