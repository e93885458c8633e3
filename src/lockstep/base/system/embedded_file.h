#pragma once

#include <string_view>

namespace lockstep {

/// A file that the build put into the program (cmake/EmbedFiles.cmake).
struct EmbeddedFile {
  std::string_view path;  ///< below the folder it came from
  std::string_view text;
};

}  // namespace lockstep
