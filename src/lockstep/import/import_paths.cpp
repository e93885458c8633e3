#include "lockstep/import/import_paths.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>

#include "lockstep/base/error.h"
#include "lockstep/import/run_folder.h"

namespace lockstep::import {
namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with(".");
}

void add_folder(const std::string& folder, std::vector<ImportPath>& files) {
  if (is_run_folder(folder)) {
    files.push_back({folder, false});
    return;
  }
  std::vector<std::string> found;
  std::error_code problem;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         problem);
  if (problem) {
    throw Error(ErrorKind::kData,
                fmt::format("cannot read the folder {}: {}", folder, problem.message()));
  }
  for (const fs::recursive_directory_iterator end; entry != end; entry.increment(problem)) {
    if (problem) break;
    std::error_code ignored;
    if (is_hidden(entry->path())) {
      if (entry->is_directory(ignored)) entry.disable_recursion_pending();
    } else if (entry->is_directory(ignored) && is_run_folder(entry->path())) {
      found.push_back(entry->path().string());
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file(ignored)) {
      found.push_back(entry->path().string());
    }
  }
  if (found.empty())
    throw Error(ErrorKind::kData, fmt::format("the folder {} contains no files", folder));
  std::sort(found.begin(), found.end());
  for (std::string& path : found) files.push_back({std::move(path), true});
}

void add_pattern(const std::string& pattern, std::vector<ImportPath>& files) {
  glob_t matches{};
  const int status = glob(pattern.c_str(), GLOB_TILDE, nullptr, &matches);
  for (std::size_t i = 0; status == 0 && i < matches.gl_pathc; ++i) {
    const std::string path = matches.gl_pathv[i];
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      add_folder(path, files);
    } else {
      files.push_back({path, false});
    }
  }
  globfree(&matches);
  if (status != 0) throw Error(ErrorKind::kData, fmt::format("no file matches {}", pattern));
}

}  // namespace

std::vector<ImportPath> expand_paths(const std::vector<std::string>& paths) {
  std::vector<ImportPath> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (path == "-") {
      files.push_back({path, false});
    } else if (fs::is_directory(path, ignored)) {
      add_folder(path, files);
    } else if (fs::exists(path, ignored)) {
      files.push_back({path, false});
    } else if (path.find_first_of("*?[") != std::string::npos) {
      add_pattern(path, files);
    } else {
      throw Error(ErrorKind::kData, fmt::format("file {} does not exist", path),
                  "check its name; a folder and a pattern such as 'logs/*.log' work too");
    }
  }
  return files;
}

}  // namespace lockstep::import
