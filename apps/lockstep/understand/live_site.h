#pragma once

#include <string>

#include "lockstep/serve/server.h"

namespace lockstep::cli {

/// What `lockstep serve` shows of a store: the page of report and advise, and imports into it.
serve::Site live_site(const std::string& store_path);

}  // namespace lockstep::cli
