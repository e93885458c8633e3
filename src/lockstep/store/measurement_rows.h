#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "lockstep/record/measurement.h"
#include "lockstep/store/database.h"

namespace lockstep::store {

/// All of a measurement but metric, value and unit, as it is kept in the store: JSON. The form has
/// not changed since the first version; later columns are among its notes.
std::string configuration_text(const record::Measurement& row);

/// Reads rows of the columns run_id, metric, value, unit and configuration. The rows of a run that
/// come one after the other share few configurations: each is parsed once.
class MeasurementReader {
 public:
  record::Measurement read(const Statement& row);

 private:
  std::int64_t run_ = 0;
  std::unordered_map<std::string, record::Measurement> parsed_;  ///< of the run, by text
};

}  // namespace lockstep::store
