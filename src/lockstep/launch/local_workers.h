#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lockstep/launch/child_process.h"
#include "lockstep/launch/core_plan.h"
#include "lockstep/launch/run_directory.h"

namespace lockstep::launch {

/// What the workers of one host share while they run: an anonymous memory file for their shared
/// segment and a private folder to meet in. Nothing of it outlives this object and the workers.
class LocalWorkers {
 public:
  /// Throws kEnvironment when the machine cannot provide them.
  LocalWorkers();

  /// One process for each worker of `plan`: `program` with `arguments`, its rank and surroundings
  /// in the environment (docs/internals/worker-process.md), its threads limited to its share.
  std::vector<ProcessSpec> specs(const std::string& program,
                                 const std::vector<std::string>& arguments, const CorePlan& plan,
                                 const std::vector<std::string>& environment) const;

 private:
  RunDirectory directory_;
  FileDescriptor shared_memory_;
};

/// The OPENBLAS_CORETYPE that fits a CPU. OpenBLAS chooses by model number and falls back to
/// kernels without vector units on models it does not know; the flags tell what the CPU really has.
/// Empty when they tell of nothing better than the fall-back.
std::string openblas_core_type(std::string_view vendor, const std::vector<std::string>& flags);

}  // namespace lockstep::launch
