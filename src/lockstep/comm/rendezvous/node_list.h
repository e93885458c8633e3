#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::comm {

/// The hosts of a compressed list as Slurm writes it: "gpu[01-03,7],login" gives gpu01, gpu02,
/// gpu03, gpu7, login. A name may have several brackets. Throws kUsage for text that is not such a
/// list or names more than 100,000 hosts.
std::vector<std::string> expand_node_list(std::string_view text);

}  // namespace lockstep::comm
