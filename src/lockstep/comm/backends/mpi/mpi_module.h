#pragma once

#include <memory>

#include "lockstep/comm/communicator.h"
#include "lockstep/comm/context.h"

namespace lockstep::comm {

/// MPI_Allreduce and its companions, called from a separate thread. Sums are formed in the
/// order that MPI chooses. Memory of allocate_rounded() is rounded twice, see RoundedExchange.
///
/// MPI is in a module beside the program, which is loaded here and only here: programs and runs
/// that do not use it neither need nor start it. This is collective over all ranks of the run, also
/// where the context is that of a group: ranks that are not in it only keep the communicator until
/// the end. Throws kEnvironment when the module or MPI is missing, kUsage when mpirun or `srun
/// --mpi=pmix` did not start this process as that rank. MPI ends with the last communicator, unless
/// the program itself initialised it, and cannot be started again.
std::unique_ptr<Communicator> make_mpi(const Context& context);

/// Whether the module can be loaded here.
bool has_mpi();

/// The function that the module exports; for the two sides of it only.
using MakeMpi = Communicator* (*)(const Context& context);
inline constexpr const char* kMakeMpiName = "lockstep_make_mpi";

}  // namespace lockstep::comm
