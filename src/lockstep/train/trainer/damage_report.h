#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lockstep/comm/communicator.h"
#include "lockstep/data/dataset.h"

namespace lockstep::train {

/// Names the files that turned out to be damaged when a rank read their pixels, each once per run.
class DamageReport {
 public:
  DamageReport(const data::DataSplit& data, comm::Communicator& communicator);

  /// Rank 0 warns of what any rank has found since the last call. Collective; blocks.
  void report_new();

 private:
  /// "path (reason)" lines of what this rank has not sent yet.
  std::string unsent();

  std::vector<std::shared_ptr<const data::Dataset>> datasets_;
  comm::Communicator& communicator_;
  std::set<std::string> sent_;
  std::set<std::string> reported_;  ///< on rank 0
};

}  // namespace lockstep::train
