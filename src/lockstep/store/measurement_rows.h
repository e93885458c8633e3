#pragma once

#include <string>

#include "lockstep/record/measurement.h"
#include "lockstep/store/database.h"

namespace lockstep::store {

/// All of a measurement but metric, value and unit, as it is kept in the store: JSON. The form has
/// not changed since the first version; later columns are among its notes.
std::string configuration_text(const record::Measurement& row);

/// From the columns run_id, metric, value, unit and configuration.
record::Measurement read_measurement(const Statement& row);

}  // namespace lockstep::store
