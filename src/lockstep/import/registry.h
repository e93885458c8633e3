#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "lockstep/import/model/reader.h"

namespace lockstep::import {

/// Which readers recognise a sample.
struct Recognition {
  const Reader* reader = nullptr;     ///< the most certain; none when no reader recognises it
  std::vector<const Reader*> others;  ///< that are certain as well: the file has two formats
};

/// Every reader that recognises its format, in the order they are asked: those of the table in
/// readers/readers.h.
class Registry {
 public:
  Registry();
  Registry(const Registry&) = delete;  // readers refer to the list they are in
  Registry& operator=(const Registry&) = delete;

  const std::vector<std::unique_ptr<Reader>>& readers() const { return readers_; }

  /// Throws kUsage with the nearest names for an unknown one.
  const Reader& named(std::string_view name) const;

  Recognition recognise(const Sample& sample) const;

 private:
  std::vector<std::unique_ptr<Reader>> readers_;
};

}  // namespace lockstep::import
