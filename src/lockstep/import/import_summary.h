#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lockstep/import/importer.h"
#include "lockstep/store/imports.h"

namespace lockstep::import {

/// A file, what became of its runs, or why there is none.
struct FileOutcome {
  ImportedFile file;
  std::vector<store::AddedImport> stored;  ///< one per run; run 0 = not stored
  std::string error;                       ///< empty when it was read
  std::string hint;
};

/// What was found, for people: one line per file, one or two per run, what is missing once.
std::string summary_text(const FileOutcome& outcome);

struct Remark {
  std::string kind;  ///< "missing", "note:", "warning:"
  std::string text;
};

/// What its runs lack, what was interpreted, damage that was read around: "batch: set it with ...
/// (3 of 4 runs)", each once.
std::vector<Remark> remarks_on(const ImportedFile& file);

/// What to do where files state different worker counts but each names a network after itself, so
/// that nothing is compared; empty otherwise.
std::string comparison_hint(const std::vector<FileOutcome>& outcomes);

/// The file as it was understood, one row per line that something was taken from: its number, its
/// part of the file, what it means, and the line itself.
std::string explained_text(const import::ImportedFile& file);

/// The same and all figures, for programs.
nlohmann::json summary_json(const FileOutcome& outcome);

}  // namespace lockstep::import
