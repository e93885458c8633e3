// Made by tools/fit-prior; do not edit. The fields are in the order of prior.h.
#include "lockstep/predict/scaling/prior.h"

namespace lockstep::predict {

const Prior& shipped_prior() {
  static const Prior prior{
      SpreadPrior{-0.58749, 0.112714, 2610},
      SpreadPrior{-1.91854, 0.831168, 2887},
      SpreadPrior{-2.85929, 1.35651, 394},
      InteriorPrior{-0.829006, 0.642382},
      "871 published data-parallel series",
      {0.215844, 0.363949, 0.490241, 0.576349, 0.646383, 0.718714, 0.773823, 0.828932, 0.89093}};
  return prior;
}

}  // namespace lockstep::predict
