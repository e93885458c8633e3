#pragma once

#include <string>

#include "lockstep/store/database.h"

namespace lockstep::store {

/// A store ready for writing: made where missing, brought up to date, in write-ahead mode, so that
/// readers never wait for writers and a commit survives the death of its process.
Database open_for_writing(const std::string& path);

/// A store that exists, for reading. One of an older version is brought up to date first. Throws
/// kData when there is none.
Database open_for_reading(const std::string& path);

/// As open_for_writing, but the store must exist.
Database open_for_changing(const std::string& path);

}  // namespace lockstep::store
