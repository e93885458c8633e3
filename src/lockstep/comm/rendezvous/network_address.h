#pragma once

#include <string>

namespace lockstep::comm {

/// The address of a network interface ("eth0"); a numeric address is returned as it is. Throws
/// kUsage, naming the interfaces there are, for anything else.
std::string interface_address(const std::string& interface_or_address);

/// The name of the interface that has a numeric address; empty for loopback, or where there is
/// none.
std::string interface_with(const std::string& address);

/// A numeric address of a host. For a node of Slurm whose name does not resolve on this host, the
/// address that Slurm has for it. Throws kEnvironment when there is none.
std::string host_address(const std::string& host);

/// The address by which this host reaches others; 127.0.0.1 when it reaches none.
std::string outward_address();

/// Identifies the host and its namespaces: processes with equal texts can share memory and reach
/// each other over loopback.
std::string host_identity();

/// For messages.
std::string host_name();

}  // namespace lockstep::comm
