#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::store {

/// What a study that is under way expects of itself, kept so that others can see how far it is.
struct StudyOutlook {
  std::string study;
  std::int64_t planned = 0;       ///< runs, those done already included
  bool at_most = false;           ///< a ladder may end before all of them
  std::optional<double> run_s;    ///< of the run that begins now; nothing: not known yet
  std::optional<double> later_s;  ///< of all runs after that one together
};

/// Replaces what the study wrote before. The store must exist or may be made. Throws kData as
/// RunWriter does.
void keep_study_outlook(const std::string& store_path, const StudyOutlook& outlook);

/// What every study wrote last. Nothing if there is no store yet. Throws kData as Store does.
std::vector<StudyOutlook> study_outlooks(const std::string& store_path);

}  // namespace lockstep::store
