#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/record/measurement_columns.h"

namespace lockstep::analyze {

/// For tests: rows of one network, data set and device, written as briefly as a table.
class MeasurementRows {
 public:
  std::string model = "net";
  std::string dataset = "data";
  std::string device = "gpu";
  std::int64_t examples = 1000;

  /// A value at a fixed global batch.
  MeasurementRows& at_global(std::int64_t workers, std::int64_t global_batch,
                             const std::string& metric, double value) {
    record::Measurement row = start(workers, metric, value);
    row.global_batch = global_batch;
    rows.push_back(row);
    return *this;
  }
  /// A value at a fixed batch per worker.
  MeasurementRows& at_local(std::int64_t workers, std::int64_t batch, const std::string& metric,
                            double value) {
    record::Measurement row = start(workers, metric, value);
    row.batch_per_worker = static_cast<double>(batch);
    rows.push_back(row);
    return *this;
  }
  /// A value at a batch that may be b or B.
  MeasurementRows& at_stated(std::int64_t workers, std::int64_t batch, const std::string& metric,
                             double value) {
    record::Measurement row = start(workers, metric, value);
    row.stated_batch = batch;
    rows.push_back(row);
    return *this;
  }
  /// Sets any column of the last row.
  MeasurementRows& note(const std::string& name, const std::string& value) {
    record::set_column(rows.back(), name, value);
    return *this;
  }

  std::vector<record::Measurement> rows;

 private:
  record::Measurement start(std::int64_t workers, const std::string& metric, double value) const {
    record::Measurement row;
    row.model = model;
    row.dataset = dataset;
    row.device = device;
    row.workers = workers;
    row.examples = examples;
    row.metric = metric;
    row.value = value;
    return row;
  }
};

}  // namespace lockstep::analyze
