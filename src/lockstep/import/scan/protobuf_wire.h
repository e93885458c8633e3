#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace lockstep::import {

/// One field of a protocol buffer message, by the wire format alone.
struct WireField {
  std::uint32_t number = 0;
  int type = 0;             ///< 0 varint, 1 64 bits, 2 bytes, 5 32 bits
  std::uint64_t value = 0;  ///< of types 0, 1 and 5
  std::string_view bytes;   ///< of type 2

  double as_double() const { return std::bit_cast<double>(value); }
  float as_float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(value)); }
};

/// Walks over the fields of a message. Stops at the first thing that is no field.
class WireMessage {
 public:
  explicit WireMessage(std::string_view bytes) : rest_(bytes) {}

  std::optional<WireField> next() {
    const auto key = varint();
    if (!key || *key >> 35 != 0) return std::nullopt;
    WireField field;
    field.number = static_cast<std::uint32_t>(*key >> 3);
    field.type = static_cast<int>(*key & 7);
    if (field.type == 0) {
      const auto value = varint();
      if (!value) return std::nullopt;
      field.value = *value;
    } else if (field.type == 2) {
      const auto size = varint();
      if (!size || *size > rest_.size()) return std::nullopt;
      field.bytes = rest_.substr(0, *size);
      rest_.remove_prefix(*size);
    } else if (field.type == 1 || field.type == 5) {
      const std::size_t size = field.type == 1 ? 8 : 4;
      if (rest_.size() < size) return std::nullopt;
      std::memcpy(&field.value, rest_.data(), size);
      rest_.remove_prefix(size);
    } else {
      return std::nullopt;
    }
    return field;
  }

 private:
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return std::nullopt;
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  }

  std::string_view rest_;
};

}  // namespace lockstep::import
