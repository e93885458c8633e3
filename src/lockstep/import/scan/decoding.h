#pragma once

#include <memory>
#include <string>

#include "lockstep/import/scan/input.h"

namespace lockstep::import {

/// Puts decoders in front of `bytes` as its first bytes ask for: gzip (any number of members),
/// UTF-16 of either order, a UTF-8 byte order mark. `name` is for messages. Throws kData for an
/// archive that is not unpacked here (zip, xz, zstd, bzip2).
std::unique_ptr<ByteSource> decode(std::unique_ptr<ByteSource> bytes, const std::string& name);

}  // namespace lockstep::import
