#pragma once

#include <string>
#include <vector>

#include "lockstep/launch/core_plan.h"
#include "lockstep/launch/process/child_process.h"

namespace lockstep::launch {

/// What the workers of one host share while they run: an anonymous memory file, and the secret by
/// which they authenticate each other. Nothing of it outlives this object and the workers.
class LocalWorkers {
 public:
  /// Throws kEnvironment when the machine cannot provide the memory.
  LocalWorkers();

  /// One process for each worker of `plan`: `program` with `arguments`, its rank and surroundings
  /// in the environment (docs/internals/worker-process.md), its threads limited to its share.
  std::vector<ProcessSpec> specs(const std::string& program,
                                 const std::vector<std::string>& arguments, const CorePlan& plan,
                                 const std::vector<std::string>& environment) const;

 private:
  FileDescriptor shared_memory_;
  std::string secret_;
};

/// 64 random hexadecimal digits, for LOCKSTEP_SECRET. Throws kEnvironment when there are none.
std::string make_secret();

}  // namespace lockstep::launch
