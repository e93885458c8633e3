#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lockstep/predict/backtest.h"
#include "lockstep/predict/job_prediction.h"
#include "lockstep/report/render/table.h"

namespace lockstep::report {

/// One prediction as a JSON object; keys carry their units.
nlohmann::json job_json(const predict::TableSeries& table, const predict::JobPrediction& job);

/// The predictions of one series, one row per worker count, with reasons and unknowns as notes.
Table job_table(const predict::TableSeries& table, const std::vector<predict::JobPrediction>& jobs);

/// Why an interval at that count is as wide as it is: one note for the count, one for its total
/// time.
std::vector<std::string> interval_notes(double workers, const std::vector<std::string>& width);

Table backtest_table(const predict::Backtest& result, const std::string& title);
nlohmann::json backtest_json(const predict::Backtest& result);
/// One row per source or kind of scaling: the predictor beside every textbook form. `part` heads
/// the first column.
Table backtest_parts_table(const std::vector<predict::PartOfBacktest>& parts,
                           const std::string& part);

}  // namespace lockstep::report
