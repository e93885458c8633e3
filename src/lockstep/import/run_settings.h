#pragma once

#include <string_view>

#include "lockstep/import/model/imported_run.h"

namespace lockstep::import {

/// Takes a setting of a run by one of the names people give it: "workers", "num_gpus",
/// "world_size", "nodes", "batch_size", "global_batch", "examples", "epochs", "model", "dataset",
/// "device", ... False when the name is none of them or the value does not fit.
bool offer_setting(std::string_view name, std::string_view value, ImportedRun& run,
                   Provenance from = Provenance::kLog);

/// Whether offer_setting() has a setting of this name, for some value.
bool is_setting(std::string_view name);

/// The names `--set` takes, for messages.
std::string_view setting_names();

}  // namespace lockstep::import
