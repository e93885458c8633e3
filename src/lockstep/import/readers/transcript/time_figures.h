#pragma once

#include <optional>
#include <string_view>

#include "lockstep/import/readers/transcript/line_figures.h"
#include "lockstep/import/scan/figure_scan.h"

namespace lockstep::import {

/// Seconds per step of "120 ms/step", "0.12 s/it", "8.3 it/s".
std::optional<double> seconds_per_step(double value, std::string_view unit);

/// What a time is, by the words of its name. None for parts of an epoch, for forecasts and for
/// clocks that run through.
std::optional<LineFigure> time_figure(const Figure& figure, std::string_view unit, Split split,
                                      const LinePlace& place);

/// "Average running time for 5 epochs on a GPU: 24.2 sec", "Training time for each epoch: 14.2".
std::optional<LineFigure> mean_epoch_time(std::string_view whole);

}  // namespace lockstep::import
