#include "lockstep/comm/rendezvous/frames.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "lockstep/base/error.h"

namespace lockstep::comm {
namespace {

constexpr std::size_t kFrameHeader = 5;  // length of the rest, type

void put_length(std::string& out, std::size_t length) {
  const auto value = static_cast<std::uint32_t>(length);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::uint32_t length_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

[[noreturn]] void refuse_frame() {
  throw Error(ErrorKind::kPeer, "a rank sent a malformed frame");
}

std::vector<std::string> split_fields(std::string_view body) {
  std::vector<std::string> fields;
  while (!body.empty()) {
    if (body.size() < 4) refuse_frame();
    const std::uint32_t length = length_at(body, 0);
    body.remove_prefix(4);
    if (length > body.size()) refuse_frame();
    fields.emplace_back(body.substr(0, length));
    body.remove_prefix(length);
  }
  return fields;
}

}  // namespace

void FrameStream::send(const Frame& frame) {
  std::string body;
  for (const std::string& field : frame.fields) {
    put_length(body, field.size());
    body += field;
  }
  if (body.size() > kLargest) throw Error(ErrorKind::kInternal, "a frame is too large");
  put_length(unsent_, body.size());
  unsent_ += static_cast<char>(frame.type);
  unsent_ += body;
  flush();
}

void FrameStream::flush() {
  while (!unsent_.empty()) {
    const ssize_t sent = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      unsent_.erase(0, static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      throw Error(ErrorKind::kPeer, fmt::format("the connection broke: {}", std::strerror(errno)));
    }
  }
}

bool FrameStream::receive() {
  std::array<char, 64 * 1024> buffer;
  while (received_.size() <= kFrameHeader + kLargest) {
    const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (got > 0) {
      received_.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (got == 0) {
      return false;
    } else if (errno == EAGAIN) {
      return true;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

std::optional<Frame> FrameStream::next() {
  if (received_.size() < kFrameHeader) return std::nullopt;
  const std::uint32_t length = length_at(received_, 0);
  if (length > kLargest) refuse_frame();
  if (received_.size() < kFrameHeader + length) return std::nullopt;
  Frame frame;
  frame.type = static_cast<FrameType>(received_[4]);
  frame.fields = split_fields(std::string_view(received_).substr(kFrameHeader, length));
  received_.erase(0, kFrameHeader + length);
  return frame;
}

}  // namespace lockstep::comm
