#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lockstep/base/rng.h"
#include "lockstep/data/image.h"

namespace lockstep::data {

/// Per channel, of pixel values scaled to [0, 1].
struct Normalisation {
  std::vector<float> mean;
  std::vector<float> deviation;
};

/// Throws kUsage unless each channel has a mean and a positive deviation.
void check_normalisation(const Normalisation& normalisation, int channels);

/// Working memory of one thread for `Transform::apply`.
struct TransformScratch {
  std::vector<std::uint8_t> bytes;
  std::vector<float> floats;
  std::vector<std::int32_t> integers;
};

/// How a byte becomes what a network takes: byte * scale + shift, by channel. Product and sum are
/// rounded one after the other.
struct ByteScaling {
  std::vector<float> scale;
  std::vector<float> shift;

  explicit ByteScaling(const Normalisation& normalisation);
};

/// Turns stored pixels into what a network takes, in one pass. Immutable; threads may share one.
class Transform {
 public:
  virtual ~Transform() = default;
  /// Shape of every result. One channel count, height and width for the whole dataset.
  virtual ImageShape output_shape() const = 0;
  virtual PixelOrder output_order() const = 0;
  /// Writes output_shape().values() floats. All randomness comes from `rng`. Throws kData for an
  /// image it cannot take.
  virtual void apply(const ImageView& image, Rng rng, float* out,
                     TransformScratch& scratch) const = 0;

  /// What apply() does at its end, where that alone makes floats of bytes; null where pixels are
  /// interpolated. A device can then do it, and a quarter of the bytes has to be copied to it.
  virtual const ByteScaling* byte_scaling() const { return nullptr; }
  /// As apply(), without the scaling. Only where there is a byte_scaling().
  virtual void apply_to_bytes(const ImageView& image, Rng rng, std::uint8_t* out,
                              TransformScratch& scratch) const;
};

/// The stream that augments one example: it depends on these three alone, not on worker or thread.
Rng augmentation_rng(std::uint64_t seed, int epoch, std::int64_t index);

}  // namespace lockstep::data
