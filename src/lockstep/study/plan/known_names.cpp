#include "lockstep/study/plan/known_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lockstep/base/error.h"
#include "lockstep/launch/worker_answer.h"

namespace lockstep::study {
namespace {

constexpr Seconds kNamesTimeout{60};

nlohmann::json ask(const Clock& clock) {
  try {
    return nlohmann::json::parse(launch::worker_answer({"names"}, kNamesTimeout, clock), nullptr,
                                 false);
  } catch (const Error&) {
    return {};
  }
}

void require_known(const std::vector<std::string>& known, const std::string& name,
                   const char* what) {
  if (known.empty() || name.empty()) return;
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw Error(ErrorKind::kUsage, fmt::format("unknown {} '{}'", what, name),
              fmt::format("choose one of {}", fmt::join(known, ", ")));
}

}  // namespace

void check_names(const std::vector<StudyRequest>& parts, const Clock& clock) {
  if (std::all_of(parts.begin(), parts.end(),
                  [](const StudyRequest& part) { return part.is_foreign(); })) {
    return;
  }
  const nlohmann::json answer = ask(clock);
  if (!answer.is_object()) return;
  const auto recipes = answer.value("recipes", std::vector<std::string>{});
  for (const StudyRequest& part : parts) {
    if (part.is_foreign()) continue;
    require_known(recipes, part.train.spec.recipe, "recipe");
  }
}

}  // namespace lockstep::study
