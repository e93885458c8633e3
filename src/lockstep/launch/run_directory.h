#pragma once

#include <filesystem>

#include "lockstep/launch/file_descriptor.h"

namespace lockstep::launch {

/// A folder for one run in the temporary directory, readable by this user alone and removed with
/// this object. What an earlier process left behind because it was killed is removed on the way:
/// such a folder is known by its lock, which the kernel releases with its owner.
class RunDirectory {
 public:
  /// Throws kEnvironment when it cannot be created. `parent` is TMPDIR or /tmp unless given.
  explicit RunDirectory(
      const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  FileDescriptor lock_;
};

}  // namespace lockstep::launch
