#pragma once

#include <memory>

#include "lockstep/import/reader.h"

namespace lockstep::import {

/// Job tables of Slurm's sacct, separated by | or in columns: queue wait, run time, size and state.
std::unique_ptr<Reader> make_sacct_reader();

}  // namespace lockstep::import
