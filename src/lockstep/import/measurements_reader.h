#pragma once

#include <memory>

#include "lockstep/import/reader.h"

namespace lockstep::import {

/// The measurements table, Lockstep's own interchange form: its rows are kept as they stand.
std::unique_ptr<Reader> make_measurements_reader();

}  // namespace lockstep::import
