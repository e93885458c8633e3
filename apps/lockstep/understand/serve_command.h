#pragma once

#include <string>

#include "command_line/command.h"

namespace lockstep::cli {

struct ServeOptions {
  std::string host = "127.0.0.1";
  int port = 8080;  ///< 0 = any that is free
  std::string token_file{};
};

/// Shows the store in a browser until a signal asks to stop. Prints the address.
void serve_store(const GlobalOptions& global, const ServeOptions& options);

}  // namespace lockstep::cli
