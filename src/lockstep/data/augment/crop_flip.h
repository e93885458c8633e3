#pragma once

#include <memory>

#include "lockstep/data/augment/transform.h"

namespace lockstep::data {

struct CropFlipOptions {
  ImageShape input{};                      ///< of the stored images, which must be planar
  int padding = 0;                         ///< zero pixels around the image, before normalisation
  double flip_probability = 0;             ///< of mirroring left and right
  Normalisation normalisation{};           ///< one value per channel
  PixelOrder order = PixelOrder::kPlanar;  ///< of the result
};

/// Random crop, random horizontal flip, scaling to [0, 1] and normalisation, fused. The crop has
/// the size of the input and any of its (2 padding + 1)^2 places with equal probability, as
/// torchvision's RandomCrop(size, padding) followed by RandomHorizontalFlip. With padding 0 and
/// flip probability 0 it only normalises (validation). Throws kUsage for options that make no
/// sense.
std::unique_ptr<Transform> make_crop_flip(const CropFlipOptions& options);

}  // namespace lockstep::data
