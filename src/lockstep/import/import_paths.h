#pragma once

#include <string>
#include <vector>

namespace lockstep::import {

/// One file to import.
struct ImportPath {
  std::string path;          ///< "-" is standard input
  bool from_folder = false;  ///< found in a folder: may be of no known format
};

/// Files as they are, folders with all files below them (hidden ones left out), and patterns that
/// the shell did not expand; sorted within each. Throws kData for a path that is not there and a
/// pattern that fits nothing.
std::vector<ImportPath> expand_paths(const std::vector<std::string>& paths);

}  // namespace lockstep::import
