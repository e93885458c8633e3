// Made by tools/fit-prior; do not edit. The fields are in the order of prior.h.
#include "lockstep/predict/scaling/prior.h"

namespace lockstep::predict {

const Prior& shipped_prior() {
  static const Prior prior{
      SpreadPrior{-0.357763, 0.0512399, 1830},
      SpreadPrior{-2.25214, 0.900164, 2508},
      InteriorPrior{-0.936529, 0.700604},
      "537 published data-parallel series",
      {0.236499, 0.389199, 0.497207, 0.594041, 0.687151, 0.759777, 0.819367, 0.871508, 0.919926}};
  return prior;
}

}  // namespace lockstep::predict
