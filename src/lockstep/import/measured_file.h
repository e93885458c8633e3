#pragma once

#include <string>

#include "lockstep/import/measurements_table.h"

namespace lockstep::import {

/// The rows of a measurements table, or of the runs in any other file that an Importer reads: a
/// spreadsheet with one row per run, a notebook, a log. Of those, `notices` has what was
/// interpreted. Throws kData as read_measurements_file() does, or as Importer::read() for other
/// files.
MeasurementsTable read_measured_file(const std::string& path, BadRow bad_row = BadRow::kRefuse);

}  // namespace lockstep::import
