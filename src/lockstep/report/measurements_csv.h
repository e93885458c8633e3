#pragma once

#include <span>
#include <string>

#include "lockstep/record/measurement.h"

namespace lockstep::report {

/// The measurements table as CSV: the known columns in their order, then one column for each note
/// that any row has. Values are written so that they read back to the same number.
std::string measurements_csv(std::span<const record::Measurement> rows);

}  // namespace lockstep::report
