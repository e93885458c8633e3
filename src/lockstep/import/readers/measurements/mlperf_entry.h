#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lockstep/import/scan/json_line.h"

namespace lockstep::import {

/// One entry of an MLPerf log of any version. Views are valid as long as the line and `json` are.
struct MlperfEntry {
  std::string_view benchmark;  // where each line names it
  std::string_view key;
  double time_s = 0;
  bool has_number = false;
  double number = 0;
  std::string_view text;
  std::string_view status;
  // Of the metadata:
  std::optional<double> epoch;
  std::optional<double> first_epoch;
  std::optional<double> epoch_count;
  std::optional<double> samples;
  std::optional<double> throughput;                        // of the value itself
  std::vector<std::pair<std::string_view, double>> parts;  // of a value that has several
};

/// The entry of a line, or nothing.
std::optional<MlperfEntry> read_mlperf_entry(std::string_view text, JsonLine& json);

}  // namespace lockstep::import
