#pragma once

#include <span>

#include "lockstep/base/system/embedded_file.h"

namespace lockstep::cli {

/// The measurements tables of examples/studies, by file name.
std::span<const EmbeddedFile> demo_studies();

}  // namespace lockstep::cli
