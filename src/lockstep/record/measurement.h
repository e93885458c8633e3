#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::record {

/// One row of the measurements table: one value of one metric in one configuration. What a source
/// does not say is empty or absent, never guessed.
struct Measurement {
  std::string model;
  std::string dataset;
  std::string device;
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> workers;
  std::optional<std::int64_t> batch_per_worker;
  std::optional<std::int64_t> global_batch;
  std::optional<std::int64_t> examples;
  std::optional<std::int64_t> epochs;
  std::string metric;
  double value = 0;
  std::string unit;
  /// Columns the table has beyond the known ones, by name.
  std::map<std::string, std::string> notes;
  /// Where the row came from, 1-based; 0 when it was not read from a file.
  std::size_t line = 0;
};

/// The columns of the table, in the order they are written.
const std::vector<std::string>& measurement_columns();

}  // namespace lockstep::record
