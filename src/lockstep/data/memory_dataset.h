#pragma once

#include <any>
#include <cstdint>
#include <vector>

#include "lockstep/data/dataset.h"

namespace lockstep::data {

/// Planar images of one shape that lie in memory or in mapped files, with their class labels.
class MemoryDataset final : public Dataset {
 public:
  /// `images[i]` points to info.shape.values() bytes inside `storage`, which is only kept alive.
  MemoryDataset(DatasetInfo info, std::vector<const std::uint8_t*> images,
                std::vector<std::uint8_t> labels, std::any storage);

  const DatasetInfo& info() const override { return info_; }
  std::int64_t size() const override { return static_cast<std::int64_t>(images_.size()); }
  Example fetch(std::int64_t index, FetchScratch& scratch) const override;

 private:
  DatasetInfo info_;
  std::vector<const std::uint8_t*> images_;
  std::vector<std::uint8_t> labels_;
  std::any storage_;
};

}  // namespace lockstep::data
