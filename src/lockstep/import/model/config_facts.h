#pragma once

#include <string_view>

#include "lockstep/import/model/imported_run.h"

namespace lockstep::import {

/// A setting of a run by the name that scripts give it ("world_size", "per_device_batch_size",
/// "train.batch_size"), as a configuration file, a table or a result states it. Names that may
/// count something else are not used: loader workers ("num_workers"), devices that a machine has
/// ("gpu_count"). False where the name or its value states no fact.
bool offer_config(std::string_view name, std::string_view value, ImportedRun& run);

}  // namespace lockstep::import
