#pragma once

#include <string>
#include <vector>

#include "lockstep/data/file_dataset.h"

namespace lockstep::data {

struct ImageFolderOptions {
  FileOptions files{};
  /// Fraction held out for validation if there is no folder for it. Decided by a hash of each
  /// file's path inside the folder: the same on every rank, in every run, and stable when files are
  /// added.
  double validation = 0.2;
  /// false: all images anywhere below the folder are one class (a GAN needs no labels).
  bool classes = true;
};

/// What was found, and what is not used.
struct FolderReport {
  std::vector<SkippedFile> skipped;
  std::vector<std::string>
      empty_classes;  ///< folders without a usable image; they keep their label

  /// One line for people: "skipped 2 files: a.gif (GIF images ...), ...; empty classes: x". At most
  /// `names` of each are named. "" when nothing was skipped.
  std::string summary(std::size_t names = 5) const;
};

struct ImageFolder {
  DataSplit split;
  FolderReport report;
};

/// Images in a folder per class, below `folder` itself or below its train/ and val/ (also valid/,
/// validation/, test/). Classes are numbered in order of name. Files of no supported kind, too
/// large or cut short are skipped and reported; with `strict` the first is an error. Hidden files
/// are ignored. Throws kData when nothing is left, when validation would be empty, or when val/ has
/// a class that train/ lacks.
ImageFolder load_image_folder(const std::string& folder, const ImageFolderOptions& options);

}  // namespace lockstep::data
