#include "lockstep/data/memory_dataset.h"

#include <utility>

#include "lockstep/base/error.h"

namespace lockstep::data {

MemoryDataset::MemoryDataset(DatasetInfo info, std::vector<const std::uint8_t*> images,
                             std::vector<std::uint8_t> labels, std::any storage)
    : info_(std::move(info)),
      images_(std::move(images)),
      labels_(std::move(labels)),
      storage_(std::move(storage)) {
  if (images_.size() != labels_.size()) {
    throw Error(ErrorKind::kInternal, "a dataset needs one label per image");
  }
}

Example MemoryDataset::fetch(std::int64_t index, FetchScratch&) const {
  const auto i = static_cast<std::size_t>(index);
  return {
      .image = {images_[i], info_.shape, PixelOrder::kPlanar}, .label = labels_[i], .targets = {}};
}

}  // namespace lockstep::data
