#include "lockstep/data/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"
#include "lockstep/base/simd.h"

namespace lockstep::data {
namespace {

enum Stream : std::uint64_t { kPrototypes, kTraining, kValidation };

/// Values in [-100, 100], on a canvas with room to shift the window of an image.
struct Prototype {
  std::vector<std::int8_t> values;
};

struct Canvas {
  ImageShape shape;
  int margin_y;
  int margin_x;
};

/// A few waves of low frequency per channel: enough to distinguish classes, smooth enough that
/// moving by a pixel changes little.
Prototype make_prototype(const Canvas& canvas, Rng rng) {
  constexpr int kWaves = 4;
  Prototype result{std::vector<std::int8_t>(canvas.shape.values())};
  std::size_t at = 0;
  for (int c = 0; c < canvas.shape.channels; ++c) {
    double fy[kWaves], fx[kWaves], phase[kWaves];
    for (int w = 0; w < kWaves; ++w) {
      fy[w] = 3 * rng.uniform();
      fx[w] = 3 * rng.uniform();
      phase[w] = rng.uniform();
    }
    for (int y = 0; y < canvas.shape.height; ++y) {
      for (int x = 0; x < canvas.shape.width; ++x) {
        double sum = 0;
        for (int w = 0; w < kWaves; ++w) {
          sum += std::cos(
              2 * std::numbers::pi *
              (fy[w] * y / canvas.shape.height + fx[w] * x / canvas.shape.width + phase[w]));
        }
        result.values[at++] = static_cast<std::int8_t>(std::lround(sum * 100 / kWaves));
      }
    }
  }
  return result;
}

LOCKSTEP_SIMD_CLONES void add_noise(const std::int8_t* signal, int contrast, std::uint8_t* pixels,
                                    int count) {
  constexpr int kNoise = 160;  // width of the uniform noise, in grey levels
  for (int i = 0; i < count; ++i) {
    const int noise = (pixels[i] * kNoise >> 8) - kNoise / 2;
    const int value = 128 + (signal[i] * contrast >> 8) + noise;
    pixels[i] = static_cast<std::uint8_t>(std::clamp(value, 0, 255));
  }
}

void fill_random_bytes(std::vector<std::uint8_t>& bytes, Rng& rng) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = rng.next();
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, bytes.size() - at));
  }
}

class SyntheticDataset final : public Dataset {
 public:
  SyntheticDataset(DatasetInfo info, Canvas canvas,
                   std::shared_ptr<const std::vector<Prototype>> prototypes, std::int64_t size,
                   std::uint64_t seed, Stream stream)
      : info_(std::move(info)),
        canvas_(canvas),
        prototypes_(std::move(prototypes)),
        size_(size),
        seed_(seed),
        stream_(stream) {}

  const DatasetInfo& info() const override { return info_; }
  std::int64_t size() const override { return size_; }

  Example fetch(std::int64_t index, FetchScratch& scratch) const override {
    Rng rng(seed_, stream_, static_cast<std::uint64_t>(index));
    Example example;
    int dy = static_cast<int>(rng.below(static_cast<std::uint64_t>(2 * canvas_.margin_y + 1)));
    int dx = static_cast<int>(rng.below(static_cast<std::uint64_t>(2 * canvas_.margin_x + 1)));
    if (info_.classes > 0) {
      example.label = index % info_.classes;
    } else {
      const int reach = std::max(canvas_.margin_x, 1);
      scratch.targets.assign(1,
                             static_cast<float>(dx - canvas_.margin_x) / static_cast<float>(reach));
      example.targets = scratch.targets;
      dy = canvas_.margin_y;
    }
    const int contrast = 128 + static_cast<int>(rng.below(129));
    scratch.pixels.resize(info_.shape.values());
    fill_random_bytes(scratch.pixels, rng);
    draw((*prototypes_)[static_cast<std::size_t>(example.label)], dy, dx, contrast,
         scratch.pixels.data());
    example.image = {scratch.pixels.data(), info_.shape, PixelOrder::kPlanar};
    return example;
  }

 private:
  void draw(const Prototype& prototype, int dy, int dx, int contrast, std::uint8_t* pixels) const {
    for (int c = 0; c < info_.shape.channels; ++c) {
      for (int y = 0; y < info_.shape.height; ++y, pixels += info_.shape.width) {
        const int row = c * canvas_.shape.height + y + dy;
        add_noise(prototype.values.data() + row * canvas_.shape.width + dx, contrast, pixels,
                  info_.shape.width);
      }
    }
  }

  DatasetInfo info_;
  Canvas canvas_;
  std::shared_ptr<const std::vector<Prototype>> prototypes_;
  std::int64_t size_;
  std::uint64_t seed_;
  Stream stream_;
};

void check(const SyntheticOptions& o) {
  if (o.shape.channels < 1 || o.shape.height < 1 || o.shape.width < 1 || o.classes < 0 ||
      o.train_examples < 1 || o.validation_examples < 1) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("synthetic data cannot have {} classes, {} + {} examples of {} x {} x {}",
                    o.classes, o.train_examples, o.validation_examples, o.shape.channels,
                    o.shape.height, o.shape.width));
  }
}

}  // namespace

DataSplit make_synthetic(const SyntheticOptions& options) {
  check(options);
  DatasetInfo info;
  info.name = options.name;
  info.path = "synthetic";
  info.synthetic = true;
  info.shape = options.shape;
  info.classes = options.classes;
  info.targets = options.classes == 0 ? 1 : 0;
  // A regression reads its target from the sideways move, so that needs room.
  const int margin_x = options.classes == 0 ? options.shape.width / 4 : options.shape.width / 16;
  const int margin_y = options.shape.height / 16;
  const Canvas canvas{{options.shape.channels, options.shape.height + 2 * margin_y,
                       options.shape.width + 2 * margin_x},
                      margin_y,
                      margin_x};
  auto prototypes = std::make_shared<std::vector<Prototype>>();
  for (int c = 0; c < std::max(options.classes, 1); ++c) {
    prototypes->push_back(
        make_prototype(canvas, Rng(options.seed, kPrototypes, static_cast<std::uint64_t>(c))));
  }
  const auto part = [&](std::int64_t size, Stream stream) {
    return std::make_shared<SyntheticDataset>(info, canvas, prototypes, size, options.seed, stream);
  };
  return {part(options.train_examples, kTraining), part(options.validation_examples, kValidation)};
}

}  // namespace lockstep::data
