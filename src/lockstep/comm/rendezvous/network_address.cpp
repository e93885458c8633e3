#include "lockstep/comm/rendezvous/network_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <vector>

#include "lockstep/base/error.h"
#include "lockstep/base/system/loopback.h"
#include "lockstep/comm/rendezvous/socket.h"

namespace lockstep::comm {
namespace {

/// TEST-NET-1 (RFC 5737): no host has it, and it is routed like any other.
constexpr const char* kRoutedAddress = "192.0.2.1";

std::string numeric(const sockaddr* address, socklen_t length) {
  char host[NI_MAXHOST] = {};
  if (::getnameinfo(address, length, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return host;
}

bool is_numeric(const std::string& text) {
  in_addr four{};
  in6_addr six{};
  return ::inet_pton(AF_INET, text.c_str(), &four) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), &six) == 1;
}

std::string resolved_address(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &wanted, &found) != 0) return "";
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_family == AF_INET) return numeric(one->ai_addr, one->ai_addrlen);
  }
  return numeric(found->ai_addr, found->ai_addrlen);
}

/// NodeAddr of "scontrol show node"; empty if there is no Slurm or no such node.
std::string slurm_address(const std::string& node) {
  const bool plain = std::all_of(node.begin(), node.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_';
  });
  if (!plain || node.empty() || node.front() == '-') return "";
  const std::string command = "scontrol --oneliner show node " + node + " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  if (!pipe) return "";
  std::string output(4096, '\0');
  output.resize(std::fread(output.data(), 1, output.size(), pipe.get()));
  const std::size_t at = output.find("NodeAddr=");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + std::strlen("NodeAddr=");
  return resolved_address(output.substr(begin, output.find_first_of(" \n", begin) - begin));
}

std::string link_text(const char* path) {
  std::error_code problem;
  return std::filesystem::read_symlink(path, problem).string();
}

}  // namespace

std::string interface_address(const std::string& interface_or_address) {
  if (is_numeric(interface_or_address)) return interface_or_address;
  ifaddrs* list = nullptr;
  ::getifaddrs(&list);
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  std::set<std::string> names;
  std::string six;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    names.insert(one->ifa_name);
    if (interface_or_address != one->ifa_name) continue;
    if (family == AF_INET) return numeric(one->ifa_addr, sizeof(sockaddr_in));
    six = numeric(one->ifa_addr, sizeof(sockaddr_in6));
  }
  if (!six.empty()) return six;
  throw Error(ErrorKind::kUsage,
              fmt::format("this host ({}) has no network interface '{}' with an address",
                          host_name(), interface_or_address),
              fmt::format("its interfaces are {}", fmt::join(names, ", ")));
}

std::string interface_with(const std::string& address) {
  ifaddrs* list = nullptr;
  ::getifaddrs(&list);
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const auto length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (numeric(one->ifa_addr, static_cast<socklen_t>(length)) == address) return one->ifa_name;
  }
  return "";
}

std::string host_address(const std::string& host) {
  if (std::string address = resolved_address(host); !address.empty()) return address;
  if (std::string address = slurm_address(host); !address.empty()) return address;
  throw Error(ErrorKind::kEnvironment, fmt::format("the rendezvous host {} has no address", host),
              "set LOCKSTEP_RENDEZVOUS=ADDRESS:PORT on the host of rank 0");
}

std::string outward_address() {
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(9);
  ::inet_pton(AF_INET, kRoutedAddress, &there.sin_addr);
  // Nothing is sent: connecting a datagram socket only chooses the route.
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0) {
    return local_endpoint(socket).host;
  }
  ifaddrs* list = nullptr;
  ::getifaddrs(&list);
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    std::string address = numeric(one->ifa_addr, sizeof(sockaddr_in));
    if ((one->ifa_flags & IFF_UP) != 0 && !is_loopback(address)) return address;
  }
  return "127.0.0.1";
}

std::string host_identity() {
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(boot, id);
  return fmt::format("{} {} {} {}", host_name(), id, link_text("/proc/self/ns/pid"),
                     link_text("/proc/self/ns/net"));
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  ::gethostname(name, HOST_NAME_MAX);
  return name;
}

}  // namespace lockstep::comm
