#pragma once

#include <string>
#include <vector>

#include "lockstep/predict/duration/run_forecast.h"

namespace lockstep::display {

/// "total predicted at 5 % of the steps (after step 47): 61.0 s (58.2 s to 64.9 s), off by -0.8 %,
/// within its 90 % interval", one line per mark. Empty when nothing was predicted early enough.
std::vector<std::string> forecast_lines(const predict::RunForecast& forecast, double total_s);

}  // namespace lockstep::display
