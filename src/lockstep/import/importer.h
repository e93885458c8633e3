#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/import/model/imported_run.h"
#include "lockstep/import/registry.h"
#include "lockstep/import/scan/input.h"

namespace lockstep::import {

/// How to read; nothing set = everything is found out.
struct ImportOptions {
  std::string format;                           ///< name of a reader
  std::string pattern;                          ///< for the pattern reader; empty = none
  std::map<std::string, std::string> settings;  ///< facts of `--set`, by name
  bool use_file_name = true;  ///< false: the name was made up here and states no facts
  bool explain = false;       ///< fill ImportedFile::explained
};

/// What one file gave.
struct ImportedFile {
  std::string path;
  std::string format;
  std::string digest;  ///< of the unpacked content
  std::uint64_t bytes = 0;
  std::vector<ImportedRun> runs;         ///< completed, with what is missing
  std::vector<ExplainedLine> explained;  ///< in the file's order; empty unless asked for
  std::vector<std::string>
      warnings;  ///< damage that was read around: one sentence with line or byte
};

/// Reads files one after the other. Throws kUsage for options that make no sense, at construction.
class Importer {
 public:
  explicit Importer(ImportOptions options);
  ~Importer();

  /// Throws kData, one sentence with the line or byte, when nothing in the file can be used: empty,
  /// binary, of no known format, or without any run.
  ImportedFile read(Input& input) const;
  /// `path` may be "-", or the folder of one run (is_run_folder()).
  ImportedFile read(const std::string& path) const;

  const Registry& registry() const { return registry_; }

 private:
  Recognition reader_for(Input& input) const;
  ImportedFile read_folder(const std::string& path) const;
  void complete_runs(ImportedFile& file) const;

  ImportOptions options_;
  Registry registry_;
  std::unique_ptr<Reader> pattern_;
};

}  // namespace lockstep::import
