#pragma once

#include <string_view>

#include "lockstep/import/imported_run.h"

namespace lockstep::import {

/// What the name of a file says of its run: "exp_4g.log", "resnet_8gpus_b256.txt", "n2.out",
/// "16nodes", "2x4gpu", "all_reduce-16xH100". All as Provenance::kName. Nothing where the name can
/// be read in two ways: "2nodes_8gpus" (8 in all or each?), "rank-0" (an index).
void facts_from_name(std::string_view path, ImportedRun& run);

}  // namespace lockstep::import
