#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::study {

/// One sweep of a plan file, as the options of `lockstep study` that ask for the same.
struct PlanFileSweep {
  std::vector<std::string> arguments;  ///< "--workers=1,2"; the recipe without dashes
  std::vector<std::string> command;    ///< what would follow "--"
  std::size_t line = 1;                ///< where it begins
};

/// A plan file: options by their long names. Keys above the first [[sweep]] apply to all of
/// them; without any, it is the only one.
struct PlanFile {
  std::string name;  ///< of the study; empty when the file gives none
  std::vector<PlanFileSweep> sweeps;
};

/// Throws kData with file and line for text that is not TOML, kUsage for values that no option can
/// take.
PlanFile read_plan_file(const std::string& path);
/// The same from text; `path` is for messages.
PlanFile parse_plan(const std::string& text, const std::string& path);

}  // namespace lockstep::study
