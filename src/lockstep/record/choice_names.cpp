#include "lockstep/record/choice_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lockstep/base/error.h"

namespace lockstep::record {

void refuse_choice(std::string_view option, std::string_view given,
                   const std::vector<std::string>& names) {
  throw Error(ErrorKind::kUsage, fmt::format("{} '{}' is unknown", option, given),
              fmt::format("give one of {}", fmt::join(names, ", ")));
}

void refuse_recorded_choice(std::string_view what, std::string_view recorded) {
  throw Error(ErrorKind::kData,
              fmt::format("a record contains an unknown {}: '{}'", what, recorded),
              "it was written by another version of lockstep; use that version");
}

}  // namespace lockstep::record
