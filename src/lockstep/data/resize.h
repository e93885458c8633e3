#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/data/image.h"

namespace lockstep::data {

/// The part of an image that is resized: rows [top, bottom), columns [left, right).
struct Box {
  int top = 0;
  int left = 0;
  int bottom = 0;
  int right = 0;
};

/// Working memory of one thread.
struct ResizeScratch {
  struct Taps {
    int count = 0;           ///< weights an output position, those at the edge padded with zeros
    std::vector<int> first;  ///< first input position of each output position
    std::vector<float> weights;  ///< count for each output position; they add up to 1
  };
  Taps columns;
  Taps rows;
  std::vector<float> row;
  std::vector<const std::uint8_t*> row_pointers;
};

/// Resizes interleaved RGB with a triangle filter that widens when it shrinks, as PIL's BILINEAR
/// and torchvision's Resize(antialias) do; the results agree with them to one grey level (PIL
/// rounds between the two directions, this does not). `in` must be readable and `out` writable for
/// kPixelSlack bytes past the end.
void resize_rgb(const std::uint8_t* in, ImageShape in_shape, Box box, std::uint8_t* out,
                ImageShape out_shape, ResizeScratch& scratch);

}  // namespace lockstep::data
