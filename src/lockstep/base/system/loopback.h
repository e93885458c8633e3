#pragma once

#include <string>

namespace lockstep {

/// Whether that host is this machine by definition: "localhost", ::1, or an IPv4 address 127.x.y.z.
bool is_loopback(const std::string& host);

}  // namespace lockstep
