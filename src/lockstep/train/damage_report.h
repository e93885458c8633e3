#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lockstep/comm/communicator.h"
#include "lockstep/data/dataset.h"

namespace lockstep::train {

/// Names the files whose damage showed only when a rank read their pixels, each once in a run.
class DamageReport {
 public:
  DamageReport(const data::DataSplit& data, comm::Communicator& communicator);

  /// Rank 0 warns of what any rank has met since the last call. Collective; blocks.
  void tell_news();

 private:
  /// "path (reason)" lines of what this rank has not sent yet.
  std::string unsent();

  std::vector<std::shared_ptr<const data::Dataset>> datasets_;
  comm::Communicator& communicator_;
  std::set<std::string> sent_;
  std::set<std::string> told_;  ///< on rank 0
};

}  // namespace lockstep::train
