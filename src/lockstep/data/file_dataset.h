#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lockstep/data/dataset.h"
#include "lockstep/data/files/decode.h"

namespace lockstep::data {

/// How image files become examples of one size.
struct FileOptions {
  int height = 224;
  int width = 224;
  Crop crop{};
  bool strict = false;  ///< a file that cannot be used is an error, not skipped
  DecodeLimits limits{};
  /// Resized images kept in memory, so that later epochs need not decode them again.
  std::int64_t cache_bytes = 0;
};

struct FileEntry {
  std::string path;
  std::int64_t label = 0;
  float target = 0;       ///< of a regression
  bool mirrored = false;  ///< left and right exchanged
};

/// JPEG and PNG files, decoded and resized when they are fetched, as interleaved RGB.
///
/// A file whose damage shows only while decoding is an error with `strict`. Otherwise the next
/// readable example of the set replaces it, the same on every rank and in every run, and it is
/// listed in damaged().
class FileDataset final : public Dataset {
 public:
  /// `info.shape` is set from the options. Throws kUsage for options that make no sense, kData
  /// without entries.
  FileDataset(DatasetInfo info, std::vector<FileEntry> entries, const FileOptions& options);
  ~FileDataset() override;

  const DatasetInfo& info() const override { return info_; }
  std::int64_t size() const override { return static_cast<std::int64_t>(entries_.size()); }
  Example fetch(std::int64_t index, FetchScratch& scratch) const override;
  std::vector<SkippedFile> damaged() const override;

 private:
  void load(const FileEntry& entry, FetchScratch& scratch) const;
  Example example(std::size_t index, const std::uint8_t* pixels) const;
  void keep(std::size_t index, const std::vector<std::uint8_t>& pixels) const;
  void note_damage(const FileEntry& entry, const std::string& reason) const;

  DatasetInfo info_;
  std::vector<FileEntry> entries_;
  FileOptions options_;
  // A pointer is set once, by the thread that decoded the image first.
  mutable std::vector<std::atomic<const std::uint8_t*>> cache_;
  mutable std::atomic<std::int64_t> cache_left_;
  mutable std::mutex damage_mutex_;
  mutable std::vector<SkippedFile> damage_;
};

/// Reads the headers of a file. The reason why it cannot be used, or "" for a sound one.
std::string reason_to_skip(const std::string& path, const DecodeLimits& limits);

/// A number in [0, 1) that depends on the text alone: decides the same split everywhere.
double stable_fraction(std::string_view text);

}  // namespace lockstep::data
