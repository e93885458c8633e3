#include "lockstep/data/augment/crop_flip.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/base/error.h"
#include "lockstep/base/simd.h"

namespace lockstep::data {
namespace {

/// out = in * scale + shift. Written as a product and a sum, never contracted, so that every
/// instruction set gives the same bits.
LOCKSTEP_SIMD_CLONES void scale_plane(const std::uint8_t* __restrict in, std::size_t count,
                                      float scale, float shift, float* __restrict out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(in[i]) * scale + shift;
}

/// The same with factors that change along a row (interleaved channels).
LOCKSTEP_SIMD_CLONES void scale_row(const std::uint8_t* __restrict in, std::size_t count,
                                    const float* __restrict scale, const float* __restrict shift,
                                    float* __restrict out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(in[i]) * scale[i] + shift[i];
}

/// Copies rows, each mirrored.
LOCKSTEP_SIMD_CLONES void mirror_rows(const std::uint8_t* __restrict in, int rows, int width,
                                      std::uint8_t* __restrict out) {
  for (int y = 0; y < rows; ++y, in += width, out += width) {
    for (int x = 0; x < width; ++x) out[x] = in[width - 1 - x];
  }
}

/// Where the crop lies in the unpadded image: row y of the result is row y + dy of the image.
struct Placement {
  int dy = 0;
  int dx = 0;
  bool flip = false;
};

/// One channel, moved, with zeros where the padding shows. The plane moves as one block; what came
/// from the end of a neighbouring row is then blanked.
void shift_plane(const std::uint8_t* in, int height, int width, const Placement& at,
                 std::uint8_t* out) {
  const int first_row = std::clamp(-at.dy, 0, height),
            end_row = std::clamp(height - at.dy, 0, height);
  const int first = std::clamp(-at.dx, 0, width), end = std::clamp(width - at.dx, 0, width);
  const int size = height * width;
  if (first_row >= end_row || first >= end) {
    std::fill_n(out, size, std::uint8_t{0});
    return;
  }
  // All positions from the first pixel shown to the last; both lie inside the image.
  const int begin = first_row * width + first, stop = (end_row - 1) * width + end;
  std::fill_n(out, begin, std::uint8_t{0});
  std::copy(in + begin + at.dy * width + at.dx, in + stop + at.dy * width + at.dx, out + begin);
  std::fill(out + stop, out + size, std::uint8_t{0});
  for (int row = first_row; row < end_row; ++row) {
    for (int x = 0; x < first; ++x) out[row * width + x] = 0;
    for (int x = end; x < width; ++x) out[row * width + x] = 0;
  }
}

LOCKSTEP_SIMD_CLONES void interleave_three(const std::uint8_t* __restrict planes,
                                           std::size_t pixels, std::uint8_t* __restrict out) {
  for (std::size_t i = 0; i < pixels; ++i) {
    out[3 * i] = planes[i];
    out[3 * i + 1] = planes[pixels + i];
    out[3 * i + 2] = planes[2 * pixels + i];
  }
}

void interleave(const std::uint8_t* planes, std::size_t channels, std::size_t pixels,
                std::uint8_t* out) {
  if (channels == 3) return interleave_three(planes, pixels, out);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = 0; i < pixels; ++i) out[i * channels + c] = planes[c * pixels + i];
  }
}

class CropFlip final : public Transform {
 public:
  explicit CropFlip(const CropFlipOptions& options)
      : options_(options), scaling_(options.normalisation) {
    for (int x = 0; x < options.input.width; ++x) {
      row_scale_.insert(row_scale_.end(), scaling_.scale.begin(), scaling_.scale.end());
      row_shift_.insert(row_shift_.end(), scaling_.shift.begin(), scaling_.shift.end());
    }
  }

  ImageShape output_shape() const override { return options_.input; }
  PixelOrder output_order() const override { return options_.order; }

  void apply(const ImageView& image, Rng rng, float* out,
             TransformScratch& scratch) const override {
    const std::uint8_t* planes = move(image, rng, scratch);
    if (planar()) {
      write_planar(planes, out);
    } else {
      write_interleaved(planes, scratch.bytes.data() + 2 * options_.input.values(), out);
    }
  }

  const ByteScaling* byte_scaling() const override { return &scaling_; }

  void apply_to_bytes(const ImageView& image, Rng rng, std::uint8_t* out,
                      TransformScratch& scratch) const override {
    const std::uint8_t* planes = move(image, rng, scratch);
    if (planar()) {
      std::copy_n(planes, options_.input.values(), out);
    } else {
      interleave(planes, channels(), plane_size(), out);
    }
  }

 private:
  std::size_t channels() const { return static_cast<std::size_t>(options_.input.channels); }
  std::size_t plane_size() const { return options_.input.values() / channels(); }
  bool planar() const { return options_.order == PixelOrder::kPlanar || channels() == 1; }

  /// The crop, perhaps mirrored: in the image itself or in the scratch memory, whose last third is
  /// free.
  const std::uint8_t* move(const ImageView& image, Rng& rng, TransformScratch& scratch) const {
    if (image.shape != options_.input || image.order != PixelOrder::kPlanar) {
      throw Error(ErrorKind::kData, fmt::format("an image is {} x {} x {}, expected {} x {} x {}",
                                                image.shape.channels, image.shape.height,
                                                image.shape.width, options_.input.channels,
                                                options_.input.height, options_.input.width));
    }
    const Placement at = place(rng);
    const std::size_t values = options_.input.values();
    scratch.bytes.resize(3 * values);
    const std::uint8_t* planes = image.pixels;
    if (at.dy != 0 || at.dx != 0) planes = shift(planes, at, scratch.bytes.data());
    if (at.flip) planes = mirror(planes, scratch.bytes.data() + values);
    return planes;
  }

  Placement place(Rng& rng) const {
    Placement at;
    if (options_.padding > 0) {
      const auto places = static_cast<std::uint64_t>(2 * options_.padding + 1);
      at.dy = static_cast<int>(rng.below(places)) - options_.padding;
      at.dx = static_cast<int>(rng.below(places)) - options_.padding;
    }
    at.flip = options_.flip_probability > 0 && rng.uniform() < options_.flip_probability;
    return at;
  }

  const std::uint8_t* shift(const std::uint8_t* in, const Placement& at, std::uint8_t* out) const {
    for (std::size_t c = 0; c < channels(); ++c) {
      shift_plane(in + c * plane_size(), options_.input.height, options_.input.width, at,
                  out + c * plane_size());
    }
    return out;
  }

  const std::uint8_t* mirror(const std::uint8_t* in, std::uint8_t* out) const {
    mirror_rows(in, options_.input.channels * options_.input.height, options_.input.width, out);
    return out;
  }

  void write_planar(const std::uint8_t* planes, float* out) const {
    for (std::size_t c = 0; c < channels(); ++c) {
      scale_plane(planes + c * plane_size(), plane_size(), scaling_.scale[c], scaling_.shift[c],
                  out + c * plane_size());
    }
  }

  void write_interleaved(const std::uint8_t* planes, std::uint8_t* staging, float* out) const {
    interleave(planes, channels(), plane_size(), staging);
    const std::size_t row = row_scale_.size();
    for (std::size_t at = 0; at < options_.input.values(); at += row) {
      scale_row(staging + at, row, row_scale_.data(), row_shift_.data(), out + at);
    }
  }

  CropFlipOptions options_;
  ByteScaling scaling_;
  std::vector<float> row_scale_;  // one row of interleaved pixels
  std::vector<float> row_shift_;
};

void check(const CropFlipOptions& o) {
  const auto fail = [](const std::string& what) { throw Error(ErrorKind::kUsage, what); };
  if (o.input.values() == 0 || o.input.height < 1 || o.input.width < 1) {
    fail("images without pixels cannot be cropped");
  }
  check_normalisation(o.normalisation, o.input.channels);
  if (o.padding < 0) fail(fmt::format("padding cannot be {}", o.padding));
  if (!(o.flip_probability >= 0 && o.flip_probability <= 1)) {
    fail(fmt::format("a flip probability of {} is not in [0, 1]", o.flip_probability));
  }
}

}  // namespace

std::unique_ptr<Transform> make_crop_flip(const CropFlipOptions& options) {
  check(options);
  return std::make_unique<CropFlip>(options);
}

}  // namespace lockstep::data
