#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "lockstep/import/model/reader.h"
#include "lockstep/import/registry.h"

namespace lockstep::import {

/// Whether one run of a tool left this folder behind, so that it is read as a whole and not file by
/// file: Weights & Biases (run-*.wandb beside files/), MLflow (meta.yaml beside metrics/).
bool is_run_folder(const std::filesystem::path& folder);

/// What such a folder was.
struct FolderContent {
  std::string format;
  std::string digest;
  std::uint64_t bytes = 0;
};

/// Throws kData where the folder is none of these.
FolderContent read_run_folder(const std::filesystem::path& folder, const Registry& registry,
                              ImportSink& sink);

}  // namespace lockstep::import
