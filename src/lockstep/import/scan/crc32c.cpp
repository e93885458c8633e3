#include "lockstep/import/scan/crc32c.h"

#include <array>

namespace lockstep::import {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // reversed

using Tables = std::array<std::array<std::uint32_t, 256>, 4>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
    tables[0][i] = value;
  }
  for (std::uint32_t i = 0; i < 256; ++i) {
    for (std::size_t t = 1; t < 4; ++t) {
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

std::uint32_t crc32c(const char* data, std::size_t size) {
  std::uint32_t value = 0xFFFFFFFFu;
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(data[i]));
  };
  for (; size >= 4; data += 4, size -= 4) {
    value ^= byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
    value = kTables[3][value & 0xFF] ^ kTables[2][(value >> 8) & 0xFF] ^
            kTables[1][(value >> 16) & 0xFF] ^ kTables[0][value >> 24];
  }
  for (; size > 0; ++data, --size) value = (value >> 8) ^ kTables[0][(value ^ byte(0)) & 0xFF];
  return ~value;
}

std::uint32_t masked_crc32c(const char* data, std::size_t size) {
  const std::uint32_t value = crc32c(data, size);
  return ((value >> 15) | (value << 17)) + 0xA282EAD8u;
}

}  // namespace lockstep::import
