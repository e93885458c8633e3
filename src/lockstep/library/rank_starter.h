#pragma once

namespace lockstep::library {

/// Starts `workers` ranks of this program on this host, each with its share of the cores, waits for
/// them and ends this process: with exit code 0 when all ranks ended well, else with the code of
/// the rank that failed first, 5 where a signal killed it. The other ranks get 15 s to end by
/// themselves. With LOCKSTEP_RESTARTS=k all ranks are started again up to k times. SIGINT and
/// SIGTERM are passed on; a second one kills. Ranks die with this process.
[[noreturn]] void start_ranks(int workers, char** argv);

}  // namespace lockstep::library
