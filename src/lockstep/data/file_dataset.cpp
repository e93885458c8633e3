#include "lockstep/data/file_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"
#include "lockstep/data/files/mapped_file.h"

namespace lockstep::data {
namespace {

constexpr int kMostSubstitutes = 32;
constexpr int kLargestSide = 16'384;

void mirror_rgb(std::uint8_t* pixels, int height, int width) {
  for (int y = 0; y < height; ++y, pixels += 3 * width) {
    for (int l = 0, r = width - 1; l < r; ++l, --r) {
      std::swap_ranges(pixels + 3 * l, pixels + 3 * l + 3, pixels + 3 * r);
    }
  }
}

void check(const FileOptions& o) {
  if (o.height < 1 || o.width < 1 || o.height > kLargestSide || o.width > kLargestSide) {
    throw Error(ErrorKind::kUsage,
                fmt::format("images cannot be resized to {} x {}", o.width, o.height));
  }
  if (!(o.crop.top >= 0 && o.crop.bottom >= 0 && o.crop.top + o.crop.bottom < 1)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("cropping {} rows at the top and {} at the bottom leaves no image",
                            o.crop.top, o.crop.bottom));
  }
}

}  // namespace

FileDataset::FileDataset(DatasetInfo info, std::vector<FileEntry> entries,
                         const FileOptions& options)
    : info_(std::move(info)),
      entries_(std::move(entries)),
      options_(options),
      cache_(entries_.size()),
      cache_left_(options.cache_bytes) {
  check(options);
  if (entries_.empty()) {
    throw Error(ErrorKind::kData, fmt::format("{}: contains no usable image", info_.path),
                "JPEG and PNG files are supported; --data synthetic needs no files");
  }
  info_.shape = {3, options.height, options.width};
}

FileDataset::~FileDataset() {
  for (auto& pixels : cache_) delete[] pixels.load();
}

Example FileDataset::fetch(std::int64_t index, FetchScratch& scratch) const {
  std::string last;
  for (std::size_t tried = 0; tried < std::min<std::size_t>(kMostSubstitutes, entries_.size());
       ++tried) {
    const std::size_t i = (static_cast<std::size_t>(index) + tried) % entries_.size();
    if (const auto* cached = cache_[i].load(std::memory_order_acquire)) return example(i, cached);
    try {
      load(entries_[i], scratch);
      keep(i, scratch.pixels);
      return example(i, scratch.pixels.data());
    } catch (const Error& error) {
      last = fmt::format("{}: {}", entries_[i].path, error.what());
      if (options_.strict || error.kind() != ErrorKind::kData)
        throw Error(error.kind(), last, error.hint());
      note_damage(entries_[i], error.what());
    }
  }
  throw Error(ErrorKind::kData,
              fmt::format("{} (and no readable image among the next {})", last, kMostSubstitutes));
}

void FileDataset::load(const FileEntry& entry, FetchScratch& scratch) const {
  read_file(entry.path, options_.limits, scratch.file);
  decode_resized(scratch.file, options_.limits, options_.crop, info_.shape, scratch.pixels,
                 scratch.decode);
  if (entry.mirrored) mirror_rgb(scratch.pixels.data(), info_.shape.height, info_.shape.width);
}

Example FileDataset::example(std::size_t index, const std::uint8_t* pixels) const {
  const FileEntry& entry = entries_[index];
  Example result;
  result.image = {pixels, info_.shape, PixelOrder::kInterleaved};
  result.label = entry.label;
  if (info_.targets > 0) result.targets = {&entry.target, 1};
  return result;
}

void FileDataset::keep(std::size_t index, const std::vector<std::uint8_t>& pixels) const {
  const auto size = static_cast<std::int64_t>(pixels.size());
  if (cache_left_.load(std::memory_order_relaxed) < size) return;
  if (cache_left_.fetch_sub(size) < size) {
    cache_left_.fetch_add(size);
    return;
  }
  auto copy = std::make_unique<std::uint8_t[]>(pixels.size());
  std::memcpy(copy.get(), pixels.data(), pixels.size());
  const std::uint8_t* none = nullptr;
  if (cache_[index].compare_exchange_strong(none, copy.get(), std::memory_order_release)) {
    copy.release();
  } else {
    cache_left_.fetch_add(size);
  }
}

void FileDataset::note_damage(const FileEntry& entry, const std::string& reason) const {
  const std::lock_guard lock(damage_mutex_);
  const auto known = std::find_if(damage_.begin(), damage_.end(),
                                  [&](const SkippedFile& file) { return file.path == entry.path; });
  if (known == damage_.end()) damage_.push_back({entry.path, reason});
}

std::vector<SkippedFile> FileDataset::damaged() const {
  const std::lock_guard lock(damage_mutex_);
  return damage_;
}

std::string reason_to_skip(const std::string& path, const DecodeLimits& limits) {
  try {
    const MappedFile file(path);
    if (static_cast<std::int64_t>(file.bytes().size()) > limits.file_bytes) {
      return fmt::format("a file of {} bytes exceeds the limit of {}", file.bytes().size(),
                         limits.file_bytes);
    }
    check_image(file.bytes(), limits);
    return "";
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) throw;
    std::string reason = error.what();
    if (reason.starts_with(path + ": ")) reason.erase(0, path.size() + 2);
    return reason;
  }
}

double stable_fraction(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3ULL;
  return Rng(hash).uniform();
}

}  // namespace lockstep::data
