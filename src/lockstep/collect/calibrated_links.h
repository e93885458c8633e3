#pragma once

#include <string>

#include "lockstep/analyze/communication.h"

namespace lockstep::collect {

/// How fast the links of a study's runs are, from `lockstep bench collectives`.
struct CalibratedLinks {
  analyze::LinkSpeeds speeds;
  /// One sentence: where the speeds are from or, if there is no calibration, how to get one.
  std::string note;
};

/// For the runs of a study (all runs where it is empty): the newest calibration of the same
/// machine, back end and worker count.
CalibratedLinks calibrated_links(const std::string& store_path, const std::string& study);

}  // namespace lockstep::collect
