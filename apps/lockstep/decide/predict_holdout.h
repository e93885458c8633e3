#pragma once

#include <string>

#include "command_line/command.h"
#include "decide/measured_series.h"

namespace lockstep::cli {

/// Warns that a series has no prediction, and what is missing; a JSON line too where those are
/// printed.
void report_missing(const GlobalOptions& global, const predict::TableSeries& one,
                    const std::string& has);

/// The largest count of each series, predicted from the others: one object or row per series.
void predict_held_out(const GlobalOptions& global, const MeasuredSource& source);

/// The total time of the longest runs of each series and worker count, predicted from the shorter
/// ones, beside what was measured and beside the shortest run scaled up. One row, or JSON object,
/// per series and count. Throws kData when no count was run for two numbers of epochs.
void predict_held_out_epochs(const GlobalOptions& global, const MeasuredSource& source);

/// Errors and coverage with the largest counts held out: with the shipped prior, and with priors
/// fitted without each group or source.
void run_backtest(const GlobalOptions& global, const MeasuredSource& source);

}  // namespace lockstep::cli
