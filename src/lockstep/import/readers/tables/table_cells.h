#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lockstep/import/model/imported_run.h"
#include "lockstep/import/readers/tables/table_columns.h"
#include "lockstep/import/scan/text_table.h"

namespace lockstep::import {

/// "4", "4 GPUs": how many there are, or nothing.
std::optional<std::int64_t> count_in_cell(std::string_view cell);

/// "4 GPUs", "1 worker": the cell itself states what it counts.
bool says_gpus(std::string_view cell);

/// The count in the name of a configuration: "DDP, 4 GPUs", "mnist_1 GPU".
std::optional<std::int64_t> gpus_named_in(std::string_view cell);

/// The same, or that of devices: "8x H100", "4 x A100 40GB".
std::optional<std::int64_t> devices_named_in(std::string_view cell);

bool is_figure(const TableColumn& column);

/// Seconds of a cell: its own unit, else that of the header.
std::optional<double> seconds_of_cell(const CellNumber& number, const TableColumn& column);

/// Puts what a cell has into the run. What only distinguishes runs is appended to `settings`.
void add_cell(std::string_view cell, const TableColumn& column, ImportedRun& run,
              std::string& settings);

}  // namespace lockstep::import
