#include "lockstep/data/files/image_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/base/units.h"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_folder(const std::string& path, const std::string& what,
                              const std::string& hint = "") {
  throw Error(ErrorKind::kData, fmt::format("{}: {}", path, what), hint);
}

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

std::vector<std::string> folders_in(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!is_hidden(it->path()) && fs::is_directory(it->path(), ignored)) {
      names.push_back(it->path().filename().string());
    }
  }
  if (error) fail_folder(folder.string(), "cannot be listed: " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

/// All files below, sorted, so that every machine numbers them alike.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    if (is_hidden(it->path())) {
      it.disable_recursion_pending();
    } else if (!fs::is_directory(it->path(), ignored)) {
      files.push_back(it->path());
    }
  }
  if (error) fail_folder(folder.string(), "cannot be listed: " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

struct LabelledFiles {
  std::vector<FileEntry> train;
  std::vector<FileEntry> validation;
};

/// Goes through the folders and sorts usable files from others.
class Scan {
 public:
  Scan(fs::path root, const ImageFolderOptions& options)
      : root_(std::move(root)), options_(options) {}

  FolderReport report;

  /// The usable files below, with this label.
  std::vector<FileEntry> usable(const fs::path& folder, std::int64_t label) {
    std::vector<FileEntry> entries;
    for (const fs::path& path : files_below(folder)) {
      const std::string reason = reason_to_skip(path.string(), options_.files.limits);
      if (reason.empty()) {
        entries.push_back({path.string(), label});
      } else if (options_.files.strict) {
        fail_folder(path.string(), reason, "omit --strict to skip such files");
      } else {
        report.skipped.push_back({path.string(), reason});
      }
    }
    return entries;
  }

  std::vector<FileEntry> classes_below(const fs::path& folder,
                                       const std::vector<std::string>& names) {
    std::vector<FileEntry> all;
    for (std::size_t label = 0; label < names.size(); ++label) {
      auto entries = usable(folder / names[label], static_cast<std::int64_t>(label));
      if (entries.empty()) report.empty_classes.push_back((folder / names[label]).string());
      std::move(entries.begin(), entries.end(), std::back_inserter(all));
    }
    return all;
  }

  LabelledFiles split(std::vector<FileEntry> entries) const {
    LabelledFiles part;
    for (FileEntry& entry : entries) {
      const std::string inside = fs::path(entry.path).lexically_relative(root_).generic_string();
      const bool held_back = stable_fraction(inside) < options_.validation;
      (held_back ? part.validation : part.train).push_back(std::move(entry));
    }
    return part;
  }

 private:
  fs::path root_;
  const ImageFolderOptions& options_;
};

std::string validation_folder(const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), "train") == names.end()) return "";
  for (const char* name : {"val", "valid", "validation", "test"}) {
    if (std::find(names.begin(), names.end(), name) != names.end()) return name;
  }
  return "";
}

void expect_known_classes(const fs::path& folder, const std::vector<std::string>& known) {
  for (const std::string& name : folders_in(folder)) {
    if (!std::binary_search(known.begin(), known.end(), name)) {
      fail_folder((folder / name).string(), "is a class without training images");
    }
  }
}

}  // namespace

std::string FolderReport::summary(std::size_t names) const {
  std::string text;
  if (!skipped.empty()) {
    text = fmt::format("skipped {}:", counted(std::ssize(skipped), "file"));
    for (std::size_t i = 0; i < std::min(names, skipped.size()); ++i) {
      text += fmt::format("{} {} ({})", i > 0 ? "," : "", skipped[i].path, skipped[i].reason);
    }
    if (skipped.size() > names) text += ", ...";
  }
  if (!empty_classes.empty()) {
    text += fmt::format("{}{} no usable image:", text.empty() ? "" : "; ",
                        counted(std::ssize(empty_classes), "class has", "classes have"));
    for (std::size_t i = 0; i < std::min(names, empty_classes.size()); ++i) {
      text += fmt::format("{} {}", i > 0 ? "," : "", empty_classes[i]);
    }
    if (empty_classes.size() > names) text += ", ...";
  }
  return text;
}

ImageFolder load_image_folder(const std::string& folder, const ImageFolderOptions& options) {
  if (!(options.validation >= 0 && options.validation < 1)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("a validation fraction of {} is not in [0, 1)", options.validation));
  }
  const fs::path root(folder);
  Scan scan(root, options);
  DatasetInfo info;
  info.name = fs::weakly_canonical(root).filename().string();
  info.path = folder;
  LabelledFiles part;
  const auto below = folders_in(root);
  const std::string held_back = validation_folder(below);
  if (!options.classes) {
    info.classes = 1;
    part = scan.split(scan.usable(root, 0));
  } else if (!held_back.empty()) {
    info.class_names = folders_in(root / "train");
    expect_known_classes(root / held_back, info.class_names);
    part.train = scan.classes_below(root / "train", info.class_names);
    for (const std::string& name : folders_in(root / held_back)) {
      const auto label = std::lower_bound(info.class_names.begin(), info.class_names.end(), name);
      auto entries = scan.usable(root / held_back / name, label - info.class_names.begin());
      std::move(entries.begin(), entries.end(), std::back_inserter(part.validation));
    }
  } else {
    info.class_names = below;
    part = scan.split(scan.classes_below(root, below));
  }
  if (options.classes) info.classes = static_cast<int>(info.class_names.size());
  const bool wants_validation = !held_back.empty() || options.validation > 0;
  if (!part.train.empty() && part.validation.empty() && wants_validation) {
    fail_folder(folder, "no image is left for validation",
                "give a larger --validation, or a val/ folder");
  }
  ImageFolder result;
  result.split.train = std::make_shared<FileDataset>(info, std::move(part.train), options.files);
  if (!part.validation.empty()) {
    result.split.validation =
        std::make_shared<FileDataset>(info, std::move(part.validation), options.files);
  }
  result.report = std::move(scan.report);
  return result;
}

}  // namespace lockstep::data
