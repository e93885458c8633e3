#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::watch {

/// The Python watcher laid out for one run, and the place where its ranks write their records. The
/// folder and all in it are removed when this object goes.
class WatchFolder {
 public:
  /// Makes `folder`, which must not exist; for processes on several hosts it must be on a file
  /// system they share. Throws kEnvironment when it cannot be written.
  explicit WatchFolder(std::filesystem::path folder);
  /// In a new folder below the system's one for temporary files.
  static WatchFolder temporary();

  WatchFolder(WatchFolder&& other) noexcept;
  WatchFolder& operator=(WatchFolder&&) = delete;
  ~WatchFolder();

  /// "NAME=value" entries that make Python processes started with them measure themselves. Keeps
  /// what `python_path`, the PYTHONPATH the process would have otherwise, names.
  std::vector<std::string> environment(const std::string& python_path) const;
  /// The same, for a process that inherits the environment of this one.
  std::vector<std::string> environment() const;

  /// Where ranks write: one file per process that trains.
  std::filesystem::path records() const;

  /// Leaves the folder where it is, for processes that outlive this one, and gives its path.
  std::filesystem::path keep() &&;
  /// What PYTHONPATH must begin with, and where ranks write, of the folder that was kept.
  static std::filesystem::path python_of(const std::filesystem::path& folder);
  static std::filesystem::path records_of(const std::filesystem::path& folder);

 private:
  WatchFolder() = default;

  std::filesystem::path folder_;
};

}  // namespace lockstep::watch
