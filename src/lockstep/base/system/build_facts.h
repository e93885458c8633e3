#pragma once

#include <string_view>

namespace lockstep {

/// How this program was built; the version is in version.h.
struct BuildFacts {
  std::string_view commit;  ///< empty where the sources were not a git work tree
  std::string_view type;    ///< "Release"
  std::string_view compiler;
};

BuildFacts build_facts();

/// Whether the program runs without shared libraries.
bool is_static_program();

}  // namespace lockstep
