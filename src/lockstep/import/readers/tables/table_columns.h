#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lockstep/import/model/metric_names.h"

namespace lockstep::import {

/// What a column of a table of runs has.
enum class TableRole {
  kUnknown,
  kIgnored,  ///< a spread, an ideal, the time of a part
  kWorkers,
  kNamedWorkers,  ///< the count is in the name of the configuration: "DDP, 4 GPUs"
  kNodes,
  kWorkersPerNode,
  kBatch,  ///< of one worker or of all
  kBatchPerWorker,
  kGlobalBatch,
  kFact,      ///< network, data, device, precision, epochs: by `name`, as a configuration has it
  kSetting,   ///< what only distinguishes runs: learning rate, loader workers, cores
  kSplit,     ///< over how many workers the model is split: TP, PP
  kReported,  ///< what the author derived: `name` is reported_speedup or reported_efficiency
  kTotalTime,
  kUnclearTime,  ///< "Time (s)": of an epoch, of the run or of a part
  kStepRate,     ///< steps per second
  kMetric,
  kOtherFigure,  ///< a figure by its own name
  kEpoch,        ///< the lines are epochs of one run
  kStep,
};

struct TableColumn {
  TableRole role = TableRole::kUnknown;
  MetricName metric = {};
  double scale = 1;         ///< of the header's unit, to seconds or examples per second
  bool percent = false;     ///< the header has a percent sign
  bool unit_stated = true;  ///< false: only its cells may state the unit
  std::string name = {};
};

using TableColumns = std::vector<TableColumn>;

/// Whether such a column states what a run ran on, and no figure.
bool is_configuration(TableRole role);

/// By its name: "#GPUs", "Batch per GPU", "time per epoch (s)", "Throughput (img/s)", "Speedup".
TableColumn table_column(std::string_view header);

}  // namespace lockstep::import
