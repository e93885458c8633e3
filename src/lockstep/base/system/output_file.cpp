#include "lockstep/base/system/output_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "lockstep/base/error.h"

namespace lockstep {

namespace fs = std::filesystem;

namespace {

/// As many as the kernel follows.
constexpr int kMostLinks = 40;

}  // namespace

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
  std::error_code none;
  fs::path place = path;
  for (int links = 0; links < kMostLinks && fs::is_symlink(place, none); ++links) {
    place = place.parent_path() / fs::read_symlink(place, none);
  }
  // A device or a pipe takes what is written to it; renaming a file over it would remove it.
  if (const fs::file_status found = fs::status(place, none);
      fs::exists(found) && !fs::is_regular_file(found)) {
    std::ofstream out(place, std::ios::binary);
    require(out.is_open());
    write(out);
    out.close();
    require(!out.fail());
    return;
  }
  const std::string part = fmt::format("{}.part{}", place.string(), ::getpid());
  try {
    std::ofstream out(part, std::ios::binary | std::ios::trunc);
    require(out.is_open());
    write(out);
    out.close();
    require(!out.fail());
    require(std::rename(part.c_str(), place.c_str()) == 0);
  } catch (...) {
    std::remove(part.c_str());
    throw;
  }
}

}  // namespace lockstep
