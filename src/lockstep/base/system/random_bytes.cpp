#include "lockstep/base/system/random_bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "lockstep/base/error.h"

namespace lockstep {

namespace {

/// Kernels before Linux 3.17 have the device only.
ssize_t read_random_device(std::byte* bytes, std::size_t size) {
  static const int device = ::open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  return device < 0 ? -1 : ::read(device, bytes, size);
}

}  // namespace

void fill_random(std::span<std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    ssize_t got = ::getrandom(bytes.data() + at, bytes.size() - at, 0);
    if (got < 0 && errno == ENOSYS) got = read_random_device(bytes.data() + at, bytes.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw Error(ErrorKind::kEnvironment, "the kernel returned no random bytes");
    at += static_cast<std::size_t>(got);
  }
}

std::string random_hex(std::size_t bytes) {
  std::vector<std::byte> random(bytes);
  fill_random(random);
  std::string text;
  for (const std::byte byte : random) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  return text;
}

}  // namespace lockstep
