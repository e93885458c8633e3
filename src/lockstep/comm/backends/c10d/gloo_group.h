#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "lockstep/comm/context.h"

namespace lockstep::comm {

/// Connects Gloo among the members of `context`. Addresses are exchanged through the coordinator,
/// which accepts authenticated ranks only; but Gloo itself takes any process that connects to one
/// of its ports first for the rank it expects. So each end of each connection then proves on that
/// connection that it has the job secret, and nothing else is sent before. Where a proof is missing
/// all ranks drop their connections and connect again, until the timeout.
///
/// Collective; blocks. Throws kPeer.
c10::intrusive_ptr<c10d::ProcessGroupGloo> connect_gloo(const Context& context);

/// The first line of an exception of c10d or Gloo; the others are a stack trace.
std::string first_line(const char* text);

}  // namespace lockstep::comm
