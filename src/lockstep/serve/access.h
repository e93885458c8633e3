#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockstep::serve {

/// Allowed clients: all on this machine if the server listens on loopback, otherwise those with the
/// token.
class Access {
 public:
  /// `host` is the address to listen on. Any but loopback needs a token: throws kUsage without.
  Access(std::string host, std::string token);

  const std::string& host() const { return host_; }
  const std::string& token() const { return token_; }
  bool needs_token() const { return !token_.empty(); }

  /// Whether a request may have come from our own page. On loopback only names of loopback are
  /// taken: a page elsewhere whose name was made to point here (DNS rebinding) carries its own
  /// name.
  bool host_allowed(std::string_view host_header) const;

  /// Compares in constant time.
  bool token_matches(std::string_view given) const;

 private:
  std::string host_;
  std::string token_;
};

/// "example:8080" -> "example", "[::1]:80" -> "::1"; nothing if it is not a host.
std::optional<std::string> host_of(std::string_view host_header);

/// The value of a cookie; nothing when it is not there.
std::optional<std::string> cookie(std::string_view header, std::string_view name);

/// 128 random bits as 32 hexadecimal digits, from the system's generator.
std::string fresh_token();

}  // namespace lockstep::serve
