#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::data {

struct ImageShape {
  int channels = 0;
  int height = 0;
  int width = 0;

  std::size_t values() const {
    return static_cast<std::size_t>(channels) * static_cast<std::size_t>(height) *
           static_cast<std::size_t>(width);
  }
  bool operator==(const ImageShape&) const = default;
};

/// Order of the values of one image.
enum class PixelOrder {
  kPlanar,       ///< channel, row, column (CHW)
  kInterleaved,  ///< row, column, channel (HWC, what channels_last means)
};

/// Pixels owned by the caller.
struct ImageView {
  const std::uint8_t* pixels = nullptr;
  ImageShape shape;
  PixelOrder order = PixelOrder::kPlanar;
};

}  // namespace lockstep::data
