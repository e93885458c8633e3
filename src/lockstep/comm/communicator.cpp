#include "lockstep/comm/communicator.h"

#include <fmt/format.h>

#include "lockstep/base/error.h"

namespace lockstep::comm {

std::span<float> Communicator::allocate_rounded(std::size_t count, Wire wire, std::size_t exact) {
  const std::span<float> memory = allocate(count);
  // One rank alone sends nothing that could be rounded.
  if (size_ > 1 && wire != Wire::kFloat) round_sums(memory.first(count - exact), wire);
  return memory;
}

void Communicator::round_sums(std::span<float>, Wire) {
  throw Error(ErrorKind::kUsage,
              fmt::format("the back end {} sends 32-bit floats only", record::name_of(backend())),
              "omit --wire, or use another back end");
}

void Communicator::barrier() {
  gather_all<std::uint8_t>(std::uint8_t{1});
}

}  // namespace lockstep::comm
