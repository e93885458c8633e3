#pragma once

#include <span>
#include <string>

#include "lockstep/record/machine.h"
#include "lockstep/store/store.h"

namespace lockstep::collect {

/// "load average 3.20 on 2 cores" if programs other than the runs of this store kept the machine
/// busy when `run` began, otherwise empty. `all` are the runs of the store: each run of a study
/// raises the load average that the next one finds.
std::string disturbing_load(const store::RunSummary& run, const record::Machine& machine,
                            std::span<const store::RunSummary> all);

}  // namespace lockstep::collect
