#include "lockstep/import/run_folder.h"

#include <fmt/format.h>

#include "lockstep/base/error.h"
#include "lockstep/import/readers/trackers/run_folders.h"

namespace lockstep::import {

bool is_run_folder(const std::filesystem::path& folder) {
  return is_wandb_folder(folder) || is_mlflow_run(folder);
}

FolderContent read_run_folder(const std::filesystem::path& folder, const Registry& registry,
                              ImportSink& sink) {
  FolderContent content;
  ContentDigest digest;
  if (is_wandb_folder(folder)) {
    content.format = "wandb-run";
    read_wandb_folder(folder, registry.readers(), sink, digest);
  } else if (is_mlflow_run(folder)) {
    content.format = "mlflow";
    read_mlflow_run(folder, sink, digest);
  } else {
    throw Error(ErrorKind::kData, fmt::format("{} is a folder, not a file", folder.string()));
  }
  content.digest = digest.text();
  content.bytes = digest.bytes();
  return content;
}

}  // namespace lockstep::import
