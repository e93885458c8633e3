#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lockstep/predict/backtest.h"
#include "lockstep/predict/job_prediction.h"
#include "lockstep/report/table.h"

namespace lockstep::cli {

/// "12.4 s (11.9 s to 13.0 s)".
std::string time_with_interval(const predict::Estimate& time);
/// "3.6 (3.4 to 3.8)"; `decimals` behind the point.
std::string with_interval(const predict::Estimate& value, int decimals);

/// The same to three significant digits.
std::string significant_with_interval(const predict::Estimate& value);

/// The object on a line of its own on stdout, always valid UTF-8.
void print_line(const nlohmann::json& json);

nlohmann::json estimate_json(const predict::Estimate& estimate);

/// One prediction as a JSON object; keys carry their units.
nlohmann::json job_json(const predict::TableSeries& table, const predict::JobPrediction& job);

/// The predictions of one series, one row per worker count, with reasons and unknowns as notes.
report::Table job_table(const predict::TableSeries& table,
                        const std::vector<predict::JobPrediction>& jobs);

report::Table backtest_table(const predict::Backtest& result, const std::string& title);
nlohmann::json backtest_json(const predict::Backtest& result);

}  // namespace lockstep::cli
