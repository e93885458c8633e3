#include "lockstep/train/optim/optimizer_rule.h"

namespace lockstep::train {

OptimizerRule make_rule(record::Optimizer optimizer) {
#define LOCKSTEP_RULE(value, name, rate, betas) name##_rule,
  static constexpr OptimizerRule (*kRules[])() = {LOCKSTEP_OPTIMIZERS(LOCKSTEP_RULE)};
#undef LOCKSTEP_RULE
  return kRules[static_cast<int>(optimizer)]();
}

}  // namespace lockstep::train
