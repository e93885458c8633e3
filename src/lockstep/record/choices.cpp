#include "lockstep/record/choices.h"

namespace lockstep::record {

std::string optimizer_names(bool uses_betas) {
  std::string names;
  for (const OptimizerFacts& optimizer : ChoiceTable<Optimizer>::kEntries) {
    if (optimizer.uses_betas != uses_betas) continue;
    names.append(names.empty() ? "" : ", ").append(optimizer.name);
  }
  return names;
}

}  // namespace lockstep::record
