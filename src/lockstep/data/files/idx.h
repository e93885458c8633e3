#pragma once

#include <string>

#include "lockstep/data/dataset.h"

namespace lockstep::data {

/// Where Debian's package dataset-fashion-mnist puts its files.
inline constexpr const char* kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";

/// Reads train-images-idx3-ubyte, train-labels-idx1-ubyte and the two t10k- files of `folder`, each
/// plain or with .gz, as one-channel images of `classes` classes in memory. `name` is the
/// dataset's name in records. Throws kData with file and byte offset for anything that is not a
/// whole, sound set: missing or empty file, bad magic number, truncation, bytes after the end,
/// sizes that differ, a label out of range.
DataSplit load_idx_dataset(const std::string& folder, const std::string& name, int classes = 10);

}  // namespace lockstep::data
