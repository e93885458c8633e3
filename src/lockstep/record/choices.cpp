#include "lockstep/record/choices.h"

#include <fmt/format.h>

namespace lockstep::record {

std::string optimizer_names(bool uses_betas) {
  std::string names;
  for (const OptimizerFacts& optimizer : ChoiceTable<Optimizer>::kEntries) {
    if (optimizer.uses_betas != uses_betas) continue;
    names.append(names.empty() ? "" : ", ").append(optimizer.name);
  }
  return names;
}

std::string usual_rates() {
  std::string rates;
  for (const OptimizerFacts& optimizer : ChoiceTable<Optimizer>::kEntries) {
    rates +=
        fmt::format("{}{} {}", rates.empty() ? "" : ", ", optimizer.name, optimizer.usual_rate);
  }
  return rates;
}

}  // namespace lockstep::record
