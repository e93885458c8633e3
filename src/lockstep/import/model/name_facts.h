#pragma once

#include <string>
#include <string_view>

#include "lockstep/import/model/imported_run.h"

namespace lockstep::import {

/// What the name of a file states about its run: "exp_4g.log", "resnet_8gpus_b256.txt", "n2.out",
/// "16nodes", "2x4gpu", "all_reduce-16xH100". All as Provenance::kName. Nothing where the name can
/// be read in two ways: "2nodes_8gpus" (8 in all or each?), "rank-0" (an index).
void facts_from_name(std::string_view path, ImportedRun& run);

/// What the files of one series have in common: the name without worker counts, batches and devices
/// ("resnet_v100_4gpu.log" and "resnet_v100_8gpu.log" are both "resnet"), the folder's where the
/// file's is one that every run has ("metrics.csv"). May be empty.
std::string name_of_series(std::string_view path);

}  // namespace lockstep::import
