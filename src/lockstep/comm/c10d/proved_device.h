#pragma once

#include <memory>
#include <vector>

#include "lockstep/base/units.h"
#include "lockstep/comm/socket.h"

namespace gloo::transport {
class Device;
}

namespace lockstep::comm {

/// A device of Gloo that uses connections which ranks have proved to each other before, by rank of
/// the group, one's own empty. Gloo by itself takes whoever comes first to its ports for a rank;
/// here it opens none, so that no byte of a stranger ever reaches it. For one group only.
///
/// Gloo has no public way to hand over a socket, so this is written for the release that
/// libgloo-dev has; nothing is returned where LibTorch has another one built in.
std::shared_ptr<::gloo::transport::Device> make_proved_device(std::vector<Socket> sockets,
                                                              Seconds timeout);

/// Whether make_proved_device() returns one in this build.
bool has_proved_device();

}  // namespace lockstep::comm
