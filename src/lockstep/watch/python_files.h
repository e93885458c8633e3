#pragma once

#include <span>
#include <string_view>

namespace lockstep::watch {

/// A file of the Python watcher, as the build embedded it.
struct PythonFile {
  std::string_view path;  ///< below the folder on PYTHONPATH
  std::string_view text;
};

std::span<const PythonFile> python_files();

}  // namespace lockstep::watch
