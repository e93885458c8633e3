#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/import/model/reader.h"

namespace lockstep::import {

/// Identifies what was read of a folder: the files one after the other.
class ContentDigest {
 public:
  /// The whole file, or nothing where it is missing, unreadable or larger than `largest`.
  std::string file(const std::filesystem::path& path, std::size_t largest = 64 * 1024 * 1024);
  void add(std::string_view digest, std::uint64_t bytes);
  /// Of one file alone: that file's own digest.
  std::string text() const;
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::string digests_;
  std::size_t files_ = 0;
  std::uint64_t bytes_ = 0;
};

/// A run of Weights & Biases: its record (run-*.wandb), or files/ with configuration and summary.
bool is_wandb_folder(const std::filesystem::path& folder);
void read_wandb_folder(const std::filesystem::path& folder,
                       const std::vector<std::unique_ptr<Reader>>& readers, ImportSink& sink,
                       ContentDigest& digest);

/// A run in an MLflow file store: mlruns/EXPERIMENT/RUN.
bool is_mlflow_run(const std::filesystem::path& folder);
void read_mlflow_run(const std::filesystem::path& folder, ImportSink& sink, ContentDigest& digest);

}  // namespace lockstep::import
