#include "lockstep/comm/wire/rounded_message.h"

#include <cstring>

namespace lockstep::comm {

void pack_rounded(Wire wire, std::span<const float> values, std::byte* message) {
  const float scale = wire_scale(wire, values.data(), values.size());
  std::memcpy(message, &scale, sizeof scale);
  encode(wire, values.data(), values.size(), scale,
         reinterpret_cast<std::uint16_t*>(message + sizeof scale));
}

void unpack_rounded(Wire wire, const std::byte* message, bool add, std::span<float> values) {
  float scale = 0;
  std::memcpy(&scale, message, sizeof scale);
  decode(wire, reinterpret_cast<const std::uint16_t*>(message + sizeof scale), values.size(), scale,
         add, values.data());
}

}  // namespace lockstep::comm
