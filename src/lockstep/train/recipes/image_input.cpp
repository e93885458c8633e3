#include "lockstep/train/recipes/image_input.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "lockstep/base/error.h"

namespace lockstep::train {
namespace {

constexpr int kLargestSide = 4096;

/// The numbers between the x of "66x200"; empty when it is not made of such.
std::vector<int> numbers_in(const std::string& text) {
  std::vector<int> numbers;
  const char* at = text.data();
  const char* end = at + text.size();
  for (;;) {
    int value = 0;
    const auto result = std::from_chars(at, end, value);
    if (result.ec != std::errc{} || value < 1 || value > kLargestSide) return {};
    numbers.push_back(value);
    if (result.ptr == end) return numbers;
    if (*result.ptr != 'x') return {};
    at = result.ptr + 1;
  }
}

}  // namespace

data::ImageShape image_shape(const record::RecipeOptions& options, data::ImageShape usual) {
  if (options.image_size.empty()) return usual;
  const auto sizes = numbers_in(options.image_size);
  switch (sizes.size()) {
    case 1:
      return {3, sizes[0], sizes[0]};
    case 2:
      return {3, sizes[0], sizes[1]};
    case 3:
      return {sizes[0], sizes[1], sizes[2]};
    default:
      throw Error(ErrorKind::kUsage,
                  fmt::format("--image-size '{}' is not a size", options.image_size),
                  "for example 224, or 66x200 for height x width");
  }
}

double validation_part(const record::RecipeOptions& options) {
  return options.validation < 0 ? 0.2 : options.validation;
}

void require_source(const record::RunSpec& spec, const std::string& what) {
  if (!spec.data.path.empty()) return;
  throw Error(ErrorKind::kUsage, fmt::format("the recipe {} needs {}", spec.recipe, what),
              "give --data DIR, or --data synthetic");
}

data::DataSplit load_images(const record::RunSpec& spec, data::ImageShape shape, bool classes,
                            double validation) {
  if (shape.channels != 3) {
    throw Error(ErrorKind::kUsage, "images in files have 3 channels",
                "give --image-size as 224 or 66x200");
  }
  auto folder = data::load_image_folder(
      spec.data.path,
      {.files = {.height = shape.height, .width = shape.width, .strict = spec.options.strict},
       .validation = validation,
       .classes = classes});
  folder.split.skipped = static_cast<std::int64_t>(folder.report.skipped.size());
  folder.split.report = folder.report.summary();
  return folder.split;
}

int class_count(const record::RecipeOptions& options, const data::DatasetInfo& info) {
  if (info.classes < 2) {
    throw Error(ErrorKind::kData,
                fmt::format("{}: contains {}; at least two class folders are needed", info.path,
                            info.classes == 1 ? "one class" : "no classes"),
                "put the images of each class into its own folder");
  }
  if (options.classes.empty() || options.classes == "auto") return info.classes;
  if (options.classes == std::to_string(info.classes)) return info.classes;
  throw Error(ErrorKind::kUsage,
              fmt::format("--classes {}, but {} has {}", options.classes, info.path, info.classes),
              "give --classes auto to use the folders found");
}

std::shared_ptr<const data::Transform> image_transform(const record::RecipeOptions& options,
                                                       data::AffineOptions usual, bool augment) {
  if (!augment) {
    return data::make_affine({.input = usual.input, .normalisation = usual.normalisation});
  }
  const auto set = [](double& to, double given) {
    if (given >= 0) to = given;
  };
  set(usual.rotation, options.rotate);
  set(usual.zoom, options.zoom);
  set(usual.shift_x, options.shift_x);
  set(usual.shift_y, options.shift_y);
  set(usual.flip_probability, options.flip);
  return data::make_affine(usual);
}

}  // namespace lockstep::train
