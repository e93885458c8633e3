#pragma once

#include <istream>
#include <string>
#include <vector>

#include "lockstep/record/measurement.h"

namespace lockstep::import {

/// The rows of a measurements table, in its order, and what the reader had to interpret.
struct MeasurementsTable {
  std::vector<record::Measurement> rows;
  /// One sentence each: columns kept as notes, names read as others, metrics not computed with.
  std::vector<std::string> notices;
  /// Why rows were left out, one sentence each; see BadRow.
  std::vector<std::string> left_out;
  bool from_runs = false;  ///< of a file that is no such table, see read_measured_file()
};

/// What becomes of a row that cannot be a measurement: the table is refused, or the row left out
/// and named.
enum class BadRow { kRefuse, kLeaveOut };

/// Reads the CSV form of the measurements table (docs/formats/measurements-table.md). Columns may
/// stand in any order and under common other names; times become seconds, rates examples/s,
/// accuracies fractions, bandwidths GB/s. Throws kData with `name` and the line for a missing
/// metric or value column, a row of another length, a number that cannot be read, a unit that does
/// not fit its metric, and a time or rate that is not above zero; with BadRow::kLeaveOut the last
/// four cost their row only, unless none is left.
MeasurementsTable read_measurements_table(std::istream& in, const std::string& name,
                                          BadRow bad_row = BadRow::kRefuse);

/// As above, from a file. Throws kData when it cannot be opened.
MeasurementsTable read_measurements_file(const std::string& path, BadRow bad_row = BadRow::kRefuse);

}  // namespace lockstep::import
