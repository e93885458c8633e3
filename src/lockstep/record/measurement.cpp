#include "lockstep/record/measurement.h"

namespace lockstep::record {

const std::vector<std::string>& measurement_columns() {
  static const std::vector<std::string> kColumns{
      "model",        "dataset",  "device", "nodes",  "workers", "batch_per_worker",
      "global_batch", "examples", "epochs", "metric", "value",   "unit"};
  return kColumns;
}

}  // namespace lockstep::record
