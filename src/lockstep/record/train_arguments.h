#pragma once

#include <string>
#include <vector>

#include "lockstep/record/train_request.h"

namespace lockstep::record {

/// The arguments of lockstep-worker train that turn a default TrainRequest into `request`, as far
/// as options express it: the inverse of parsing them.
std::vector<std::string> train_arguments(const TrainRequest& request);

}  // namespace lockstep::record
