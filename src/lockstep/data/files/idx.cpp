#include "lockstep/data/files/idx.h"

#include <fmt/format.h>

#include <any>
#include <array>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lockstep/base/error.h"
#include "lockstep/data/files/inflated_cache.h"
#include "lockstep/data/files/inflating_file.h"
#include "lockstep/data/memory_dataset.h"

namespace lockstep::data {
namespace {

constexpr std::uint32_t kImagesMagic = 0x00000803;  // unsigned bytes, three dimensions
constexpr std::uint32_t kLabelsMagic = 0x00000801;  // unsigned bytes, one dimension
constexpr std::uint32_t kLargestIdxSide = 16'384;
constexpr const char* kIdxHint =
    "for Fashion-MNIST install the Debian package dataset-fashion-mnist; otherwise give the folder "
    "with --data DIR, or use --data synthetic";

[[noreturn]] void fail_idx(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::kData, fmt::format("{}: {}", path, what), kIdxHint);
}

std::uint32_t read_word(InflatingFile& file, const char* what) {
  std::array<std::uint8_t, 4> b{};
  file.read(b.data(), b.size(), what);
  return std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 | std::uint32_t{b[2]} << 8 | b[3];
}

void expect_magic(InflatingFile& file, std::uint32_t expected, const char* what) {
  const std::uint32_t magic = read_word(file, "its magic number");
  if (magic != expected) {
    fail_idx(file.path(),
             fmt::format("the magic number at byte 0 is 0x{:08x}, not 0x{:08x}: not an IDX "
                         "file of {}",
                         magic, expected, what));
  }
}

/// The rest of the file, which must be exactly `size` bytes.
std::vector<std::uint8_t> read_rest(InflatingFile& file, std::uint64_t size, const char* what) {
  if (size > file.size_limit()) {
    fail_idx(file.path(),
             fmt::format("its header declares {} bytes of {} from byte {}, more than the file "
                         "contains: the file is truncated or the header is damaged",
                         size, what, file.offset()));
  }
  std::vector<std::uint8_t> bytes(size);
  file.read(bytes.data(), bytes.size(), what);
  file.expect_end();
  return bytes;
}

struct Images {
  std::string path;
  ImageShape shape;
  std::span<const std::uint8_t> pixels;
  std::any storage;  ///< of the pixels
  std::size_t count() const { return pixels.size() / shape.values(); }
};

/// The pixels of all images, read from the file or mapped from a copy that an earlier run kept.
Images read_pixels(InflatingFile& file, const ImageShape& shape, std::uint64_t size) {
  if (file.is_compressed()) {
    if (auto copy = find_inflated(file.path(), size)) {
      const auto kept = std::make_shared<MappedFile>(std::move(*copy));
      return {file.path(), shape, kept->bytes(), kept};
    }
  }
  const auto read = std::make_shared<std::vector<std::uint8_t>>(read_rest(file, size, "pixels"));
  if (file.is_compressed()) keep_inflated(file.path(), *read);
  return {file.path(), shape, *read, read};
}

Images read_images(const std::string& path) {
  InflatingFile file(path, kIdxHint);
  expect_magic(file, kImagesMagic, "images");
  const std::uint32_t count = read_word(file, "the number of images");
  const std::uint32_t height = read_word(file, "the height of the images");
  const std::uint32_t width = read_word(file, "the width of the images");
  if (count == 0) fail_idx(path, "contains no images (the count at byte 4 is 0)");
  if (height == 0 || width == 0 || height > kLargestIdxSide || width > kLargestIdxSide) {
    fail_idx(path, fmt::format("the image size at byte 8 is {} x {}", height, width));
  }
  const ImageShape shape{1, static_cast<int>(height), static_cast<int>(width)};
  return read_pixels(file, shape, std::uint64_t{count} * shape.values());
}

std::vector<std::uint8_t> read_labels(const std::string& path, int classes) {
  constexpr std::size_t kHeader = 8;
  InflatingFile file(path, kIdxHint);
  expect_magic(file, kLabelsMagic, "labels");
  const std::uint32_t count = read_word(file, "the number of labels");
  auto labels = read_rest(file, count, "labels");
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= classes) {
      fail_idx(path, fmt::format("the label at byte {} is {}, above {}", kHeader + i, labels[i],
                                 classes - 1));
    }
  }
  return labels;
}

/// The plain file, or the one with .gz.
std::string find_file(const std::string& folder, const std::string& stem) {
  std::string path = (std::filesystem::path(folder) / stem).string();
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return path;
  if (std::filesystem::exists(path + ".gz", ignored)) return path + ".gz";
  fail_idx(path, "no such file, with or without .gz");
}

std::shared_ptr<const Dataset> read_part(const std::string& folder, const std::string& part,
                                         DatasetInfo info) {
  Images images = read_images(find_file(folder, part + "-images-idx3-ubyte"));
  const std::string labels_path = find_file(folder, part + "-labels-idx1-ubyte");
  auto labels = read_labels(labels_path, info.classes);
  if (images.count() != labels.size()) {
    fail_idx(labels_path, fmt::format("contains {} labels, but {} contains {} images",
                                      labels.size(), images.path, images.count()));
  }
  info.shape = images.shape;
  std::vector<const std::uint8_t*> pointers(labels.size());
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    pointers[i] = images.pixels.data() + i * info.shape.values();
  }
  return std::make_shared<MemoryDataset>(std::move(info), std::move(pointers), std::move(labels),
                                         std::move(images.storage));
}

}  // namespace

DataSplit load_idx_dataset(const std::string& folder, const std::string& name, int classes) {
  DatasetInfo info;
  info.name = name;
  info.path = folder;
  info.classes = classes;
  DataSplit split{read_part(folder, "train", info), read_part(folder, "t10k", info)};
  const ImageShape train = split.train->info().shape, test = split.validation->info().shape;
  if (train != test) {
    fail_idx(folder, fmt::format("the training images are {} x {}, the t10k images {} x {}",
                                 train.height, train.width, test.height, test.width));
  }
  return split;
}

}  // namespace lockstep::data
