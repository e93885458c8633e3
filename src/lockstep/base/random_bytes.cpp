#include "lockstep/base/random_bytes.h"

#include <sys/random.h>

#include <cerrno>

#include "lockstep/base/error.h"

namespace lockstep {

void fill_random(std::span<std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t got = ::getrandom(bytes.data() + at, bytes.size() - at, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw Error(ErrorKind::kEnvironment, "the kernel returned no random bytes");
    at += static_cast<std::size_t>(got);
  }
}

}  // namespace lockstep
