#include "lockstep/comm/rendezvous/host_groups.h"

#include <algorithm>
#include <map>

namespace lockstep::comm {

int HostGroups::local_rank(int rank) const {
  const std::vector<int>& here = neighbours(rank);
  return static_cast<int>(std::find(here.begin(), here.end(), rank) - here.begin());
}

std::vector<int> HostGroups::leaders() const {
  std::vector<int> list;
  for (const auto& host : ranks) list.push_back(host.front());
  return list;
}

HostGroups group_by_host(const std::vector<std::string>& identities) {
  HostGroups groups;
  std::map<std::string, int> numbers;
  for (std::size_t rank = 0; rank < identities.size(); ++rank) {
    const auto [found, fresh] = numbers.try_emplace(identities[rank], groups.hosts());
    if (fresh) groups.ranks.emplace_back();
    groups.host_of.push_back(found->second);
    groups.ranks[static_cast<std::size_t>(found->second)].push_back(static_cast<int>(rank));
  }
  return groups;
}

}  // namespace lockstep::comm
