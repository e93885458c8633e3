#include "lockstep/launch/cluster/host_file.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "lockstep/base/error.h"

namespace lockstep::launch {
namespace {

constexpr int kMostSlots = 65'536;

/// A host must not look like an option to ssh.
bool is_host(const std::string& word) {
  return !word.empty() && word.front() != '-' &&
         word.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
             "-_.@:[]") == std::string::npos;
}

}  // namespace

std::vector<HostSlots> parse_host_file(std::string_view text, const std::string& path) {
  std::vector<HostSlots> hosts;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    HostSlots host;
    if (!(words >> host.host)) continue;
    const auto fail = [&](const std::string& problem) {
      throw Error(ErrorKind::kUsage, fmt::format("{} line {}: {}", path, number, problem),
                  "each line has a host and its number of workers: node1 slots=4");
    };
    if (!is_host(host.host)) fail(fmt::format("'{}' is not a host name", host.host));
    for (std::string word; words >> word;) {
      if (word.starts_with("max_slots=") || word.starts_with("max-slots=")) continue;  // mpirun's
      std::size_t used = 0;
      try {
        if (word.starts_with("slots=")) host.slots = std::stoi(word.substr(6), &used);
      } catch (const std::exception&) {
        used = 0;
      }
      if (used == 0 || used != word.size() - 6 || host.slots < 1 || host.slots > kMostSlots) {
        fail(fmt::format("'{}' is unknown", word));
      }
    }
    hosts.push_back(host);
  }
  if (hosts.empty()) {
    throw Error(ErrorKind::kUsage, fmt::format("{} contains no hosts", path),
                "each line has a host and its number of workers: node1 slots=4");
  }
  return hosts;
}

std::vector<HostSlots> read_host_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw Error(ErrorKind::kUsage, fmt::format("cannot read the host file {}", path),
                "give its path with --hostfile");
  }
  return parse_host_file(std::string(std::istreambuf_iterator<char>(file), {}), path);
}

}  // namespace lockstep::launch
