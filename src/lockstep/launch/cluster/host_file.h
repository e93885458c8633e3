#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::launch {

/// A host to start workers on, and how many it takes.
struct HostSlots {
  std::string host;  ///< as ssh takes it: "node1", "me@10.0.0.7"
  int slots = 1;

  /// Without the user.
  std::string address() const { return host.substr(host.find('@') + 1); }
};

/// One "node1 slots=4" per line, as in host files of mpirun; # begins a comment. Throws kUsage with
/// the line.
std::vector<HostSlots> parse_host_file(std::string_view text, const std::string& path);
std::vector<HostSlots> read_host_file(const std::string& path);

}  // namespace lockstep::launch
