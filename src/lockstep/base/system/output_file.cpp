#include "lockstep/base/system/output_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>

#include "lockstep/base/error.h"

namespace lockstep {

void write_result(const std::string& path, const std::function<void(std::ostream&)>& write) {
  const auto require = [&](bool done) {
    if (done) return;
    throw Error(
        ErrorKind::kData,
        fmt::format("cannot write {}: {}", path.empty() ? "to stdout" : path, std::strerror(errno)),
        "check that its folder exists and is writable, and that the disk has space");
  };
  if (path.empty()) {
    write(std::cout);
    require(static_cast<bool>(std::cout.flush()));
    return;
  }
  const std::string part = fmt::format("{}.part{}", path, ::getpid());
  try {
    std::ofstream out(part, std::ios::binary | std::ios::trunc);
    require(out.is_open());
    write(out);
    out.close();
    require(!out.fail());
    require(std::rename(part.c_str(), path.c_str()) == 0);
  } catch (...) {
    std::remove(part.c_str());
    throw;
  }
}

}  // namespace lockstep
