#pragma once

#include <optional>

#include "lockstep/import/scan/text_table.h"

namespace lockstep::import {

/// "Model | 1 GPU | 2 GPUs | 4 GPUs": one figure on several counts beside each other. Gives the
/// same table with a line per count ("Model | GPUs | epoch time"); nothing for other tables, and
/// where neither the cells nor the words above them state which figure it is.
std::optional<TextTable> below_each_other(const TextTable& table);

}  // namespace lockstep::import
