#include "lockstep/base/system/loopback.h"

#include <arpa/inet.h>

namespace lockstep {

bool is_loopback(const std::string& host) {
  // Parsed, not compared by prefix: 127.example.org is a name of any machine.
  in_addr address{};
  const bool numeric = ::inet_pton(AF_INET, host.c_str(), &address) == 1;
  return host == "localhost" || host == "::1" || (numeric && ntohl(address.s_addr) >> 24 == 127);
}

}  // namespace lockstep
