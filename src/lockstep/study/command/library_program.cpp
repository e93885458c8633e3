#include "lockstep/study/command/library_program.h"

#include <fstream>
#include <sstream>

#include "lockstep/launch/process/child_process.h"

namespace lockstep::study {

bool uses_library(const std::string& program) {
  const auto path = launch::find_program(program);
  if (!path) return false;
  std::ifstream in(*path, std::ios::binary);
  std::string magic(4, '\0');
  if (!in.read(magic.data(), 4) || magic !=
                                       "\x7f"
                                       "ELF")
    return false;
  std::ostringstream rest;
  rest << in.rdbuf();
  // Among the names of the libraries that it loads; nothing else has a reason to contain it.
  return rest.str().find("liblockstep.so.") != std::string::npos;
}

}  // namespace lockstep::study
