#include "lockstep/serve/access.h"

#include <fmt/format.h>

#include <cctype>

#include "lockstep/base/error.h"
#include "lockstep/base/system/loopback.h"
#include "lockstep/base/system/random_bytes.h"

namespace lockstep::serve {

Access::Access(std::string host, std::string token)
    : host_(std::move(host)), token_(std::move(token)) {
  if (is_loopback(host_) || !token_.empty()) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("{} can be reached from other machines, so a token is required", host_),
              "give one with --token-file FILE, or omit --host");
}

bool Access::host_allowed(std::string_view host_header) const {
  const auto host = host_of(host_header);
  if (!host) return false;
  // With a token the name does not matter: a rebound name has no cookie of ours.
  return needs_token() || is_loopback(*host);
}

bool Access::token_matches(std::string_view given) const {
  unsigned difference = given.size() == token_.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char expected = token_.empty() ? '\0' : token_[i % token_.size()];
    difference |= static_cast<unsigned char>(given[i] ^ expected);
  }
  return difference == 0 && !token_.empty();
}

std::optional<std::string> host_of(std::string_view header) {
  if (header.empty() || header.size() > 255) return std::nullopt;
  std::string_view host = header;
  if (header.front() == '[') {
    const std::size_t end = header.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    host = header.substr(1, end - 1);
    header.remove_prefix(end + 1);
  } else {
    host = header.substr(0, header.find(':'));
    header.remove_prefix(host.size());
  }
  if (host.empty() || (!header.empty() && header.front() != ':')) return std::nullopt;
  for (const char letter : header.substr(header.empty() ? 0 : 1)) {
    if (std::isdigit(static_cast<unsigned char>(letter)) == 0) return std::nullopt;
  }
  std::string name;
  for (const char letter : host) {
    const auto c = static_cast<unsigned char>(letter);
    if (std::isalnum(c) == 0 && letter != '.' && letter != '-' && letter != ':') {
      return std::nullopt;
    }
    name += static_cast<char>(std::tolower(c));
  }
  return name;
}

std::optional<std::string> cookie(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    std::string_view pair = header.substr(0, header.find(';'));
    header.remove_prefix(std::min(header.size(), pair.size() + 1));
    while (!pair.empty() && pair.front() == ' ') pair.remove_prefix(1);
    if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=') {
      return std::string(pair.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

std::string fresh_token() {
  return random_hex(16);
}

}  // namespace lockstep::serve
