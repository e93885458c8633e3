#pragma once

#include <memory>

#include "lockstep/base/system/ordered_thread.h"

namespace lockstep::comm {

/// MPI as this process uses it: initialised once, by the first communicator or by the program
/// itself, and ended after the last communicator if no other did.
class MpiProcess {
 public:
  /// Throws Error kUsage if several threads must not call MPI here.
  MpiProcess();
  ~MpiProcess();

  /// The one of this process; made if nobody has it.
  static std::shared_ptr<MpiProcess> get();

 private:
  bool ours_ = false;     ///< MPI_Init was called here
  OrderedThread thread_;  ///< makes the first and the last call of MPI
};

}  // namespace lockstep::comm
