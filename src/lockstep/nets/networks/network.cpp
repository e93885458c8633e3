#include "lockstep/nets/networks/network.h"

namespace lockstep::nets {

std::int64_t Network::parameter_count() const {
  std::int64_t count = 0;
  for (const auto& parameter : parameters()) {
    if (parameter.requires_grad()) count += parameter.numel();
  }
  return count;
}

}  // namespace lockstep::nets
