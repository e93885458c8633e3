#pragma once

#include <string>
#include <vector>

namespace lockstep::comm {

/// Which ranks share a host. Hosts are numbered by their lowest rank.
struct HostGroups {
  std::vector<int> host_of;             ///< by rank
  std::vector<std::vector<int>> ranks;  ///< by host, ascending

  int hosts() const { return static_cast<int>(ranks.size()); }
  /// Place of a rank among those of its host.
  int local_rank(int rank) const;
  const std::vector<int>& neighbours(int rank) const {
    return ranks[static_cast<std::size_t>(host_of[static_cast<std::size_t>(rank)])];
  }
  /// The lowest rank of each host.
  std::vector<int> leaders() const;
};

/// `identities` by rank; ranks with equal ones share a host.
HostGroups group_by_host(const std::vector<std::string>& identities);

}  // namespace lockstep::comm
