#pragma once

#include <memory>

#include "lockstep/data/augment/transform.h"

namespace lockstep::data {

/// What shows where the moved image does not reach.
enum class Fill {
  kEdge,   ///< its nearest pixel
  kBlack,  ///< zeros, before normalisation
};

/// Each amount is drawn evenly from a range around doing nothing. With all of them 0 the image is
/// only normalised (validation).
struct AffineOptions {
  ImageShape input{};           ///< of the images, 1 to 4 channels; also that of the result
  double rotation = 0;          ///< degrees, from -rotation to rotation, about the centre
  double zoom = 0;              ///< enlarged by a factor from 1 - zoom to 1 + zoom
  double shift_x = 0;           ///< moved by a part of the width from -shift_x to shift_x
  double shift_y = 0;           ///< and of the height
  double flip_probability = 0;  ///< of mirroring left and right
  Fill fill = Fill::kEdge;
  Normalisation normalisation{};           ///< one value per channel
  PixelOrder order = PixelOrder::kPlanar;  ///< of the result
};

/// Rotation, zoom, shift, flip, scaling to [0, 1] and normalisation in one pass: every output pixel
/// is sampled bilinearly where the inverse map takes it. Takes planar and interleaved images.
/// Throws kUsage for options that make no sense.
std::unique_ptr<Transform> make_affine(const AffineOptions& options);

}  // namespace lockstep::data
