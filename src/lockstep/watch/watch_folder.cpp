#include "lockstep/watch/watch_folder.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/watch/python_files.h"

namespace lockstep::watch {
namespace {

namespace fs = std::filesystem;

Error not_writable(const fs::path& path, const std::string& why) {
  return {ErrorKind::kEnvironment,
          fmt::format("cannot write {} for the watcher: {}", path.string(), why),
          "set TMPDIR to a writable folder, or add --no-watch"};
}

void lay_out(const fs::path& folder) {
  std::error_code problem;
  fs::create_directories(folder / "records", problem);
  if (problem) throw not_writable(folder, problem.message());
  for (const EmbeddedFile& file : python_files()) {
    const fs::path path = folder / "python" / file.path;
    fs::create_directories(path.parent_path(), problem);
    std::ofstream out(path, std::ios::binary);
    out << file.text;
    if (problem || !out.flush()) throw not_writable(path, std::strerror(errno));
  }
}

}  // namespace

WatchFolder::WatchFolder(fs::path folder) : folder_(std::move(folder)) {
  if (fs::exists(folder_)) throw not_writable(folder_, "it exists");
  try {
    lay_out(folder_);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    throw;
  }
}

WatchFolder WatchFolder::temporary() {
  std::error_code problem;
  fs::path parent = fs::temp_directory_path(problem);
  if (problem) throw not_writable("a temporary folder", problem.message());
  std::string name = (parent / "lockstep-watch-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw not_writable(name, std::strerror(errno));
  WatchFolder made;
  made.folder_ = name;
  lay_out(made.folder_);
  return made;
}

WatchFolder::WatchFolder(WatchFolder&& other) noexcept
    : folder_(std::exchange(other.folder_, fs::path())) {}

WatchFolder::~WatchFolder() {
  if (folder_.empty()) return;
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::vector<std::string> WatchFolder::environment(const std::string& python_path) const {
  const std::string python = python_of(folder_).string();
  return {"PYTHONPATH=" + (python_path.empty() ? python : python + ":" + python_path),
          "LOCKSTEP_WATCH_DIR=" + records().string()};
}

std::vector<std::string> WatchFolder::environment() const {
  const char* inherited = std::getenv("PYTHONPATH");
  return environment(inherited == nullptr ? "" : inherited);
}

fs::path WatchFolder::records() const {
  return records_of(folder_);
}

fs::path WatchFolder::keep() && {
  return std::exchange(folder_, fs::path());
}

fs::path WatchFolder::python_of(const fs::path& folder) {
  return folder / "python";
}

fs::path WatchFolder::records_of(const fs::path& folder) {
  return folder / "records";
}

}  // namespace lockstep::watch
