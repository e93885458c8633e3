#pragma once

namespace lockstep::launch {

/// A TCP port of loopback that nobody listened on a moment ago. Throws kEnvironment without one.
int free_port();

}  // namespace lockstep::launch
