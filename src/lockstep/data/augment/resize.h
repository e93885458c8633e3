#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::data {

/// The part of an image that is resized, in pixels from the top left corner; edges may lie inside
/// one.
struct Box {
  double top = 0;
  double left = 0;
  double bottom = 0;
  double right = 0;
};

/// Rows of bytes owned by the caller; `channels` bytes per pixel.
struct ByteImage {
  const std::uint8_t* bytes = nullptr;
  std::size_t stride = 0;  ///< bytes from row to row
  int height = 0;
  int width = 0;
  int channels = 1;
};

/// Working memory of one thread. One for each kind of plane saves work when sizes repeat.
struct ResizeScratch {
  struct Taps {
    double begin = 0, end = 0;  ///< what they were made for
    int limit = 0, size = 0;
    int count = 0;                       ///< weights an output position; spare ones are zero
    std::vector<int> first;              ///< first input position of each output position
    std::vector<std::uint16_t> weights;  ///< count for each output position, in 65536ths
  };
  Taps height;
  Taps width;
  std::vector<const std::uint8_t*> rows;
  std::vector<std::uint16_t> sums;
  std::vector<std::uint8_t> block;       ///< a few blended rows
  std::vector<std::uint8_t> transposed;  ///< the image at its final height, columns as rows
};

/// Resizes the box with a triangle filter that widens when it shrinks, as PIL's BILINEAR and
/// torchvision's Resize do; like PIL it rounds to 8 bits between the two directions, and agrees
/// with it to one grey level. The result goes to `out`, and its rows are padded, as the view
/// describes.
ByteImage resize(const ByteImage& in, const Box& box, int height, int width,
                 std::vector<std::uint8_t>& out, ResizeScratch& scratch);

}  // namespace lockstep::data
