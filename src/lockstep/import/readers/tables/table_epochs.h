#pragma once

#include <optional>

#include "lockstep/import/model/imported_run.h"
#include "lockstep/import/readers/tables/table_columns.h"
#include "lockstep/import/scan/text_table.h"

namespace lockstep::import {

/// The run of a table whose lines are its epochs, as fastai prints them. Nothing where an epoch
/// comes twice: the lines are of several runs, or one epoch has several.
std::optional<ImportedRun> run_of_epochs(const TextTable& table, const TableColumns& columns);

}  // namespace lockstep::import
