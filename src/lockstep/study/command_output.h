#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "lockstep/base/clock.h"
#include "lockstep/import/importer.h"
#include "lockstep/import/model/log_facts.h"

namespace lockstep::study {

/// What one run of somebody's command writes: kept in a file line by line, and read as it comes
/// with the readers of lockstep import.
class CommandOutput {
 public:
  /// Makes the file and its folder; what an earlier attempt left there is overwritten. `importer`
  /// outlives this object. Throws kEnvironment when the file cannot be written.
  CommandOutput(std::filesystem::path path, const import::Importer& importer, const Clock& clock);

  /// Keeps the line. True when it says that memory ran out.
  bool add(std::string_view line);

  /// What the latest figures are, in a few words ("epoch 3, loss 0.41, 5120 examples/s"): the file
  /// as it stands is read again, but never for more than a twentieth of the time. Empty while
  /// nothing could be read.
  const std::string& latest();

  /// Reads the whole file. Nothing, with `problem` set, when it holds nothing to read.
  std::optional<import::ImportedFile> read(std::string& problem);

  bool out_of_memory() const { return out_of_memory_; }
  const std::string& last_line() const { return last_line_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  const import::Importer& importer_;
  const Clock& clock_;
  std::ofstream file_;
  std::string last_line_;
  bool out_of_memory_ = false;
  import::LogFacts facts_;
  std::string latest_;
  Nanoseconds read_again_at_ = 0;
};

}  // namespace lockstep::study
