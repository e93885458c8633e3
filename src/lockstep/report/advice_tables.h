#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lockstep/advise/job_advice.h"
#include "lockstep/report/render/render.h"

namespace lockstep::report {

/// The advice for one job out of `jobs` as a person reads it: the sentence, its reasons, the
/// alternatives, the run to make next, and all choices as a table.
std::string advice_text(const advise::JobAdvice& job, std::size_t jobs, const advise::Terms& terms,
                        const std::vector<std::string>& notes, const RenderOptions& options);

/// The run to make next, its duration and what it may change; "none; ..." if no run would.
std::string next_run_text(const advise::JobAdvice& job);

nlohmann::json advice_json(const advise::JobAdvice& job, const std::vector<std::string>& notes);

}  // namespace lockstep::report
