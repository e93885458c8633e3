#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "lockstep/import/model/reader.h"

namespace lockstep::import {

/// Who knows a sample.
struct Recognition {
  const Reader* reader = nullptr;     ///< the surest; none when no reader knows it
  std::vector<const Reader*> others;  ///< that are certain as well: the file holds two formats
};

/// Every reader that recognises its format, in the order they are asked. A new format is added
/// here.
class Registry {
 public:
  Registry();

  const std::vector<std::unique_ptr<Reader>>& readers() const { return readers_; }

  /// Throws kUsage with the nearest names for an unknown one.
  const Reader& named(std::string_view name) const;

  Recognition recognise(const Sample& sample) const;

 private:
  std::vector<std::unique_ptr<Reader>> readers_;
};

}  // namespace lockstep::import
