#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/import/model/reader.h"

namespace lockstep::import {

/// Reads what a program printed, kept inside another file (the cells of a notebook, the record of a
/// run), with the reader of `readers` that is the surest of it. Returns that reader, or null where
/// none is at least `enough` sure or it found nothing.
const Reader* read_printed(const std::string& text, const std::string& name,
                           const std::vector<std::unique_ptr<Reader>>& readers, Match enough,
                           ImportSink& found);

/// Adds the times and failures of what a run printed. Its losses and accuracies are left alone: the
/// run's own record has them, and a script may print them in another unit.
void add_printed_times(const std::string& text, const std::string& name,
                       const std::vector<std::unique_ptr<Reader>>& readers, ImportedRun& run);

}  // namespace lockstep::import
