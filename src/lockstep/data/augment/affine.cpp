#include "lockstep/data/augment/affine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "lockstep/base/error.h"
#include "lockstep/base/simd.h"

namespace lockstep::data {
namespace {

/// Takes a pixel of the result to where it lies in the image: x = x0 + x_col col + x_row row.
struct InverseMap {
  double x0, x_col, x_row;
  double y0, y_col, y_row;
};

/// The image with a border of one pixel, four bytes per pixel. The border is what lies outside, so
/// that sampling needs no special cases: coordinates are clamped to it.
struct Staged {
  const std::uint8_t* pixels;
  int height, width;  // without the border
  std::size_t stride() const { return static_cast<std::size_t>(width + 2) * 4; }
};

/// Working memory for one row of the result: where each pixel samples, and the four neighbours
/// there.
struct RowPlan {
  std::int32_t* offset;  // bytes into the staged image
  float* fraction_x;
  float* fraction_y;
  std::uint32_t* corners[4];  // top left, top right, bottom left, bottom right
};

LOCKSTEP_SIMD_CLONES void plan_row(const Staged& image, float x, float x_step, float y,
                                   float y_step, int width, const RowPlan& plan) {
  // Just below the last pixel of the border, whose right neighbour does not exist.
  const float x_most = std::nextafter(static_cast<float>(image.width + 1), 0.0F);
  const float y_most = std::nextafter(static_cast<float>(image.height + 1), 0.0F);
  const auto stride = static_cast<std::int32_t>(image.stride());
  std::int32_t* __restrict offset = plan.offset;
  float* __restrict fraction_x = plan.fraction_x;
  float* __restrict fraction_y = plan.fraction_y;
  for (int i = 0; i < width; ++i) {
    float u = x + static_cast<float>(i) * x_step;
    float v = y + static_cast<float>(i) * y_step;
    u = u > 0 ? u : 0;
    v = v > 0 ? v : 0;
    u = u < x_most ? u : x_most;
    v = v < y_most ? v : y_most;
    const auto column = static_cast<std::int32_t>(u), row = static_cast<std::int32_t>(v);
    offset[i] = row * stride + column * 4;
    fraction_x[i] = u - static_cast<float>(column);
    fraction_y[i] = v - static_cast<float>(row);
  }
}

/// Scattered loads, apart from the arithmetic, which then runs over plain arrays.
void gather_corners(const Staged& image, const RowPlan& plan, int width) {
  const std::uint8_t* const top = image.pixels;
  const std::uint8_t* const bottom = image.pixels + image.stride();
  for (int i = 0; i < width; ++i) {
    std::uint64_t two = 0;
    std::memcpy(&two, top + plan.offset[i], sizeof two);
    plan.corners[0][i] = static_cast<std::uint32_t>(two);
    plan.corners[1][i] = static_cast<std::uint32_t>(two >> 32);
    std::memcpy(&two, bottom + plan.offset[i], sizeof two);
    plan.corners[2][i] = static_cast<std::uint32_t>(two);
    plan.corners[3][i] = static_cast<std::uint32_t>(two >> 32);
  }
}

/// One channel of one row, `step` floats from pixel to pixel.
LOCKSTEP_SIMD_CLONES void blend_corners(const RowPlan& plan, int width, int channel, float scale,
                                        float shift, float* __restrict out, std::size_t step) {
  const std::uint32_t* __restrict a = plan.corners[0];
  const std::uint32_t* __restrict b = plan.corners[1];
  const std::uint32_t* __restrict c = plan.corners[2];
  const std::uint32_t* __restrict d = plan.corners[3];
  const float* __restrict fx = plan.fraction_x;
  const float* __restrict fy = plan.fraction_y;
  const int bits = 8 * channel;
  const auto level = [bits](std::uint32_t pixel) {
    return static_cast<float>(static_cast<std::int32_t>((pixel >> bits) & 255));
  };
  const auto value = [&](int i) {
    const float left = level(a[i]) + (level(c[i]) - level(a[i])) * fy[i];
    const float right = level(b[i]) + (level(d[i]) - level(b[i])) * fy[i];
    return (left + (right - left) * fx[i]) * scale + shift;
  };
  if (step == 1) {
    for (int i = 0; i < width; ++i) out[i] = value(i);
  } else {
    for (int i = 0; i < width; ++i) out[static_cast<std::size_t>(i) * step] = value(i);
  }
}

/// One row of an image as four bytes per pixel.
void stage_row(const ImageView& image, int y, std::uint8_t* out) {
  const auto [channels, height, width] = image.shape;
  const auto row = static_cast<std::size_t>(y) * static_cast<std::size_t>(width);
  if (image.order == PixelOrder::kInterleaved && channels == 3) {
    const std::uint8_t* in = image.pixels + row * 3;
    // Four bytes at a time read into the next pixel, which the last one does not have.
    for (int x = 0; x + 1 < width; ++x) std::memcpy(out + 4 * x, in + 3 * x, 4);
    std::memcpy(out + 4 * (width - 1), in + 3 * (width - 1), 3);
    return;
  }
  const bool planar = image.order == PixelOrder::kPlanar;
  const std::size_t plane = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
  for (int c = 0; c < channels; ++c) {
    const auto k = static_cast<std::size_t>(c), n = static_cast<std::size_t>(channels);
    const std::uint8_t* in = planar ? image.pixels + k * plane + row : image.pixels + row * n + k;
    const std::size_t step = planar ? 1 : n;
    for (int x = 0; x < width; ++x) out[4 * x + c] = in[static_cast<std::size_t>(x) * step];
  }
}

Staged stage(const ImageView& image, Fill fill, std::vector<std::uint8_t>& bytes) {
  const int height = image.shape.height, width = image.shape.width;
  Staged staged{nullptr, height, width};
  const std::size_t stride = staged.stride();
  bytes.resize(stride * static_cast<std::size_t>(height + 2));
  for (int y = 0; y < height; ++y) {
    std::uint8_t* row = bytes.data() + static_cast<std::size_t>(y + 1) * stride;
    stage_row(image, y, row + 4);
    std::memcpy(row, row + 4, 4);
    std::memcpy(row + stride - 4, row + stride - 8, 4);
    if (fill == Fill::kBlack) {
      std::memset(row, 0, 4);
      std::memset(row + stride - 4, 0, 4);
    }
  }
  std::uint8_t* last = bytes.data() + static_cast<std::size_t>(height + 1) * stride;
  if (fill == Fill::kBlack) {
    std::memset(bytes.data(), 0, stride);
    std::memset(last, 0, stride);
  } else {
    std::memcpy(bytes.data(), bytes.data() + stride, stride);
    std::memcpy(last, last - stride, stride);
  }
  staged.pixels = bytes.data();
  return staged;
}

RowPlan make_plan(TransformScratch& scratch, std::size_t width) {
  scratch.floats.resize(2 * width);
  scratch.integers.resize(5 * width);
  RowPlan plan{scratch.integers.data(), scratch.floats.data(), scratch.floats.data() + width, {}};
  for (std::size_t k = 0; k < 4; ++k) {
    plan.corners[k] = reinterpret_cast<std::uint32_t*>(scratch.integers.data()) + (k + 1) * width;
  }
  return plan;
}

class Affine final : public Transform {
 public:
  explicit Affine(const AffineOptions& options)
      : options_(options), scaling_(options.normalisation) {}

  ImageShape output_shape() const override { return options_.input; }
  PixelOrder output_order() const override { return options_.order; }

  void apply(const ImageView& image, Rng rng, float* out,
             TransformScratch& scratch) const override {
    check_shape(image);
    const InverseMap map = draw(rng);
    const Staged staged = stage(image, options_.fill, scratch.bytes);
    const auto width = static_cast<std::size_t>(options_.input.width);
    const auto height = static_cast<std::size_t>(options_.input.height);
    const auto channels = static_cast<std::size_t>(options_.input.channels);
    const RowPlan plan = make_plan(scratch, width);
    const bool planar = options_.order == PixelOrder::kPlanar;
    const std::size_t pixel_step = planar ? 1 : channels,
                      channel_step = planar ? height * width : 1;
    for (std::size_t y = 0; y < height; ++y) {
      const auto row = static_cast<double>(y);
      plan_row(staged, static_cast<float>(map.x0 + map.x_row * row), static_cast<float>(map.x_col),
               static_cast<float>(map.y0 + map.y_row * row), static_cast<float>(map.y_col),
               options_.input.width, plan);
      gather_corners(staged, plan, options_.input.width);
      for (std::size_t c = 0; c < channels; ++c) {
        blend_corners(plan, options_.input.width, static_cast<int>(c), scaling_.scale[c],
                      scaling_.shift[c], out + y * width * pixel_step + c * channel_step,
                      pixel_step);
      }
    }
  }

  const ByteScaling* byte_scaling() const override {
    const bool in_place = options_.rotation == 0 && options_.zoom == 0 && options_.shift_x == 0 &&
                          options_.shift_y == 0;
    return in_place ? &scaling_ : nullptr;
  }

  void apply_to_bytes(const ImageView& image, Rng rng, std::uint8_t* out,
                      TransformScratch&) const override {
    check_shape(image);
    const bool flip = draw(rng).x_col < 0;
    const ImageShape& in = options_.input;
    const auto place = [&in](PixelOrder order, int c, int y, int x) {
      const int at = order == PixelOrder::kPlanar ? (c * in.height + y) * in.width + x
                                                  : (y * in.width + x) * in.channels + c;
      return static_cast<std::size_t>(at);
    };
    for (int c = 0; c < in.channels; ++c) {
      for (int y = 0; y < in.height; ++y) {
        for (int x = 0; x < in.width; ++x) {
          out[place(options_.order, c, y, x)] =
              image.pixels[place(image.order, c, y, flip ? in.width - 1 - x : x)];
        }
      }
    }
  }

 private:
  void check_shape(const ImageView& image) const {
    if (image.shape == options_.input) return;
    throw Error(ErrorKind::kData,
                fmt::format("an image is {} x {} x {}, expected {} x {} x {}", image.shape.channels,
                            image.shape.height, image.shape.width, options_.input.channels,
                            options_.input.height, options_.input.width));
  }

  /// Inverse of: mirror, enlarge and turn about the centre, move. In coordinates of the staged
  /// image, whose border makes them larger by one.
  InverseMap draw(Rng& rng) const {
    const auto even = [&rng](double range) { return (2 * rng.uniform() - 1) * range; };
    const double angle = even(options_.rotation) * std::numbers::pi / 180;
    const double factor = 1 + even(options_.zoom);
    const double move_x = even(options_.shift_x) * options_.input.width;
    const double move_y = even(options_.shift_y) * options_.input.height;
    const bool flip = rng.uniform() < options_.flip_probability;
    const double cosine = std::cos(angle) / factor, sine = std::sin(angle) / factor;
    const double centre_x = (options_.input.width - 1) / 2.0, from_x = -centre_x - move_x;
    const double centre_y = (options_.input.height - 1) / 2.0, from_y = -centre_y - move_y;
    InverseMap map{cosine * from_x + sine * from_y + centre_x + 1,  cosine, sine,
                   -sine * from_x + cosine * from_y + centre_y + 1, -sine,  cosine};
    if (flip) {
      map.x0 = options_.input.width + 1 - map.x0;
      map.x_col = -map.x_col;
      map.x_row = -map.x_row;
    }
    return map;
  }

  AffineOptions options_;
  ByteScaling scaling_;
};

void check(const AffineOptions& o) {
  const auto fail = [](const std::string& what) { throw Error(ErrorKind::kUsage, what); };
  constexpr std::int64_t kMostPixels = 100'000'000;  // offsets are 32 bits
  if (o.input.channels < 1 || o.input.channels > 4 || o.input.height < 1 || o.input.width < 1 ||
      std::int64_t{o.input.height} * o.input.width > kMostPixels) {
    fail(fmt::format("images of {} x {} x {} cannot be augmented", o.input.channels, o.input.height,
                     o.input.width));
  }
  check_normalisation(o.normalisation, o.input.channels);
  const auto within = [&](const char* what, double value, double most) {
    if (!(value >= 0 && value <= most)) {
      fail(fmt::format("{} of {} is not in [0, {}]", what, value, most));
    }
  };
  within("a rotation", o.rotation, 180);
  within("a zoom", o.zoom, 0.99);
  within("a horizontal shift", o.shift_x, 1);
  within("a vertical shift", o.shift_y, 1);
  within("a flip probability", o.flip_probability, 1);
}

}  // namespace

std::unique_ptr<Transform> make_affine(const AffineOptions& options) {
  check(options);
  return std::make_unique<Affine>(options);
}

}  // namespace lockstep::data
