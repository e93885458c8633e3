#pragma once

#include <string>

#include "lockstep/data/dataset.h"

namespace lockstep::data {

/// Maps the CIFAR-10 binary files of `folder`: records of one label byte and 3 x 32 x 32 pixels.
/// Training takes data_batch_*.bin and every other .bin file with "train" in its name, validation
/// test_batch.bin and every other with "test" in its name, in order of name. The files are mapped,
/// so that the workers of a host share them, and must not be truncated during a run. Throws
/// kData with file and byte offset: no such files, empty, not a whole number of records, a label
/// above 9.
DataSplit load_cifar10(const std::string& folder);

}  // namespace lockstep::data
