#include "lockstep/comm/rendezvous/node_list.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

#include "lockstep/base/error.h"

namespace lockstep::comm {
namespace {

constexpr std::size_t kMostHosts = 100'000;
constexpr std::size_t kLongestNumber = 9;

[[noreturn]] void fail_node_list(std::string_view text) {
  throw Error(ErrorKind::kUsage, fmt::format("'{}' is not a list of hosts", text),
              "for example node[1-3,7]");
}

std::uint32_t number(std::string_view digits, std::string_view all) {
  std::uint32_t value = 0;
  const auto [stop, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || digits.size() > kLongestNumber || problem != std::errc() ||
      stop != digits.data() + digits.size()) {
    fail_node_list(all);
  }
  return value;
}

/// Expands one pair of brackets: "01-03,7" gives 01, 02, 03, 7.
std::vector<std::string> expand_ranges(std::string_view ranges, std::string_view all) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = ranges.find(',');
    const std::string_view range = ranges.substr(0, comma);
    const std::size_t dash = range.find('-');
    const std::string_view first = range.substr(0, dash);
    const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
    const std::uint32_t begin = number(first, all);
    const std::uint32_t end = number(last, all);
    if (end < begin || end - begin >= kMostHosts || parts.size() > kMostHosts) fail_node_list(all);
    for (std::uint32_t i = begin; i <= end; ++i) {
      parts.push_back(fmt::format("{:0{}}", i, first.size()));
    }
    if (comma == std::string_view::npos) return parts;
    ranges.remove_prefix(comma + 1);
  }
}

/// The hosts of one name with any number of brackets.
std::vector<std::string> expand_name(std::string_view name, std::string_view all) {
  const std::size_t open = name.find('[');
  if (open == std::string_view::npos) {
    if (name.empty() || name.find(']') != std::string_view::npos) fail_node_list(all);
    return {std::string(name)};
  }
  const std::size_t close = name.find(']', open);
  if (close == std::string_view::npos) fail_node_list(all);
  const auto middles = expand_ranges(name.substr(open + 1, close - open - 1), all);
  std::vector<std::string> tails{""};
  if (close + 1 < name.size()) tails = expand_name(name.substr(close + 1), all);
  if (middles.size() * tails.size() > kMostHosts) fail_node_list(all);
  std::vector<std::string> hosts;
  for (const std::string& middle : middles) {
    for (const std::string& tail : tails) {
      hosts.push_back(std::string(name.substr(0, open)) + middle + tail);
    }
  }
  return hosts;
}

}  // namespace

std::vector<std::string> expand_node_list(std::string_view text) {
  std::vector<std::string> hosts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    depth += (c == '[') - (c == ']');
    if (depth < 0 || depth > 1) fail_node_list(text);
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    for (std::string& host : expand_name(text.substr(begin, i - begin), text)) {
      hosts.push_back(std::move(host));
    }
    if (hosts.size() > kMostHosts) fail_node_list(text);
    begin = i + 1;
  }
  return hosts;
}

}  // namespace lockstep::comm
