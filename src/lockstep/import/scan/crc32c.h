#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::import {

/// CRC-32C (Castagnoli), as TFRecord files carry it.
std::uint32_t crc32c(const char* data, std::size_t size);

/// TFRecord's masked form of it: rotated and shifted, so that a checksum of checksums stays sound.
std::uint32_t masked_crc32c(const char* data, std::size_t size);

}  // namespace lockstep::import
