#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/base/error.h"

namespace lockstep::launch {

/// The meaning of a line with which srun, sbatch, mpirun or ssh refuse to start anything: kUsage
/// where another option would help, kEnvironment where the machine or the network has to change.
/// Nothing for lines of another meaning. `what` begins the message: "srun cannot start the
/// workers".
std::optional<Error> refusal_in(std::string_view line, const std::string& what);

/// Reads the output of a launcher until its workers have started, and turns its lengthy refusals
/// into one sentence: the lines that may belong to a refusal are held back until it is clear
/// whether they do.
class RefusalListener {
 public:
  explicit RefusalListener(std::string what) : what_(std::move(what)) {}

  /// Takes the next line; true when it is not to be shown now.
  bool hold(std::string_view line);
  /// Stops reading: the workers have started, or the launcher has ended. Returns the lines that
  /// were held back without reason, none after a refusal.
  std::vector<std::string> stop();
  const std::optional<Error>& refusal() const { return refusal_; }

 private:
  std::string what_;
  bool listening_ = true;
  bool in_frame_ = false;  ///< between two of the lines that frame a message of mpirun
  std::vector<std::string> held_;
  std::optional<Error> refusal_;
};

}  // namespace lockstep::launch
