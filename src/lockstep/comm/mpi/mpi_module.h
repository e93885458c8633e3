#pragma once

#include <memory>

#include "lockstep/comm/communicator.h"
#include "lockstep/comm/membership.h"

namespace lockstep::comm {

struct MpiOptions {
  int rank = 0;
  int size = 1;
  Seconds timeout{60};
};

/// MPI_Allreduce and its companions, called from a thread of their own. MPI is in a module beside
/// the program, which is loaded here and only here: programs and runs that do not use it neither
/// need nor start it. Throws kEnvironment when the module or MPI is not there, kUsage when mpirun
/// or `srun --mpi=pmix` did not start this process as that rank. The process that uses it must end
/// with the communicator: MPI cannot be started twice.
std::unique_ptr<Communicator> make_mpi(const MpiOptions& options, Membership& membership);

/// Whether the module can be loaded here.
bool has_mpi();

/// What the module gives; for the two sides of it only.
using MakeMpi = Communicator* (*)(const MpiOptions& options, Membership& membership);
inline constexpr const char* kMakeMpiName = "lockstep_make_mpi";

}  // namespace lockstep::comm
