#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <string>

#include "lockstep/base/system/file_descriptor.h"

namespace lockstep::serve {

/// For tests: the body that a server on this machine answers to a GET over a connection of its own;
/// empty when it does not answer with 200 within half a minute.
inline std::string http_get(int port, const std::string& path) {
  const FileDescriptor connection(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{30, 0};
  ::setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return "";
  }
  const std::string request =
      fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n", path, port);
  if (::send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return "";
  std::string answer;
  char buffer[16384];
  for (ssize_t got; (got = ::recv(connection.get(), buffer, sizeof buffer, 0)) > 0;) {
    answer.append(buffer, static_cast<std::size_t>(got));
  }
  const std::size_t body = answer.find("\r\n\r\n");
  const bool found = answer.starts_with("HTTP/1.1 200") && body != std::string::npos;
  return found ? answer.substr(body + 4) : "";
}

}  // namespace lockstep::serve
