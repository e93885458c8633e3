#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lockstep/collect/phases_prediction.h"

namespace lockstep::report {

/// What a predicted step consists of, with the reasons for its interval as notes.
std::string phases_text(const collect::PhasesPrediction& prediction);
nlohmann::json phases_json(const collect::PhasesPrediction& prediction);

}  // namespace lockstep::report
