#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/import/readers/tables/table_columns.h"
#include "lockstep/import/scan/text_table.h"

namespace lockstep::import {

/// "Expected output", "estimated": words, in small letters, about what nobody measured.
bool is_projection(std::string_view words);

/// The heading or line above a table which says that nobody measured it; empty without one.
std::string words_of_projection(const TextTable& table);

/// Without the lines that no training printed: projected, predicted and estimated ones, and those
/// of inference or of a benchmark of the link.
TextTable rows_of_training(TextTable table);

/// With the names that a drawn table leaves out where they are those of the line above: blank cells
/// at the front of a line, or ditto marks.
TextTable with_names_repeated(TextTable table, const TableColumns& columns);

/// Of columns that state a configuration twice ("Batch size (FP32)", "Batch size (FP16)") the one
/// that is about the variant stays; without one, none.
void keep_column_of_variant(const TextTable& table, const std::string& variant,
                            const std::vector<std::size_t>& doubles, TableColumns& columns);

/// "Performance in tokens per second" above the table or in it: a throughput without a unit may
/// count tokens.
bool counts_tokens(const TextTable& table);

/// Whether all of several lines have one value in the column.
bool is_constant(const TextTable& table, std::size_t column);

/// Whether each line has the number after that of the line above.
bool counts_up(const TextTable& table, std::size_t column);

/// A column "gpus" may list their numbers, "0", "0,1", "0,1,2". Where another column counts the
/// workers, it tells nothing more; otherwise its lists are counted.
void settle_lists(const TextTable& table, TableColumns& columns);

/// Whether a column without a known name has measured values, 8.4918 or 459.17, and no setting.
bool is_measured(const TextTable& table, std::size_t column);

/// Whether a column "GPUs" beside one of nodes counts those of a node or of all.
enum class GpusOfNodes { kAll, kEach, kEither };

/// Decides it by the counts: one of a node where there are fewer than nodes, open where the nodes
/// change and the GPUs do not. The column's role follows.
GpusOfNodes settle_nodes(const TextTable& table, TableColumns& columns);

/// The words of a column's name that others of the same meaning do not have: "ResNet18" of
/// "ResNet18 epoch time (s)". Empty where they name no variant: a number, a mean, a part.
std::string variant_of(std::string_view name, const std::vector<std::string>& others);

}  // namespace lockstep::import
