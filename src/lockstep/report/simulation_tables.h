#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "lockstep/report/render/table.h"
#include "lockstep/simulate/settings.h"

namespace lockstep::report {

/// A simulation and what it started from.
struct SimulationSource {
  std::string text{};  ///< "run 12: ..." or "as stated"
  std::string inside_origin{};
  std::string link_origin{};
  /// The run's own step, where the settings describe its workers, links and exchange.
  simulate::MeasuredCount measured{};
};

/// Of links the user's settings, what the run's store has, or what is assumed.
SimulationSource simulation_source(const simulate::Settings& settings,
                                   const simulate::StepSource& step);

/// One row per count; below it what was assumed and the count from which more workers stop to pay.
Table simulation_table(const simulate::SimulatedScaling& scaling, const SimulationSource& source);

/// Scenarios beside each other, the first being what the others are compared with.
Table comparison_table(std::span<const simulate::SimulatedScaling> all,
                       const SimulationSource& source);

nlohmann::json simulation_json(const simulate::SimulatedScaling& scaling,
                               const SimulationSource& source);

}  // namespace lockstep::report
