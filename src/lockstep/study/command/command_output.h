#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "lockstep/base/clock.h"
#include "lockstep/import/importer.h"
#include "lockstep/import/model/log_facts.h"
#include "lockstep/study/command/failure_line.h"

namespace lockstep::study {

/// The output of one run of a foreign command: a file that is read while it grows by the readers
/// of lockstep import.
class CommandOutput {
 public:
  /// Makes the file and its folder; what an earlier attempt left there is overwritten. `importer`
  /// outlives this object. Throws kEnvironment when the file cannot be written.
  CommandOutput(const std::filesystem::path& path, const import::Importer& importer,
                const Clock& clock);

  /// The file that a batch job writes: nothing is made, and it need not exist yet.
  static CommandOutput of_job(std::filesystem::path path, const import::Importer& importer,
                              const Clock& clock);

  /// Keeps the line. True when it reports that memory ran out.
  bool add(std::string_view line);

  /// Looks at every line of a file that others wrote, as add() would have.
  void scan();

  /// What the latest figures are, in a few words ("epoch 3, loss 0.41, 5120 examples/s"): the file
  /// as it stands is read again, but never for more than a twentieth of the time. Empty while
  /// nothing could be read.
  const std::string& latest();

  /// What latest() read last.
  const std::optional<import::ImportedFile>& latest_file() const { return latest_file_; }

  /// Reads the whole file. Nothing, with `problem` set, when there is nothing to read in it.
  std::optional<import::ImportedFile> read(std::string& problem);

  bool out_of_memory() const { return out_of_memory_; }
  /// Why the command failed, as far as its output says; see FailureLine::text().
  std::string failure() const { return failure_.text(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  CommandOutput(std::filesystem::path path, const import::Importer& importer, const Clock& clock,
                std::ofstream file);

  std::filesystem::path path_;
  const import::Importer& importer_;
  const Clock& clock_;
  std::ofstream file_;
  FailureLine failure_;
  bool out_of_memory_ = false;
  import::LogFacts facts_;
  std::string latest_;
  std::optional<import::ImportedFile> latest_file_;
  Nanoseconds read_again_at_ = 0;
};

}  // namespace lockstep::study
