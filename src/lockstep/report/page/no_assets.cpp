#include "lockstep/report/page/assets.h"

namespace lockstep::report {

std::optional<PageAssets> page_assets() {
  return std::nullopt;
}

}  // namespace lockstep::report
