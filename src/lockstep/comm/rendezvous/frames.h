#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/comm/rendezvous/socket.h"

namespace lockstep::comm {

/// The messages between the ranks of a run and its coordinator.
enum class FrameType : std::uint8_t {
  kPut = 1,     ///< key, value: store it for all ranks
  kGet = 2,     ///< key: send its value once it is stored
  kValue = 3,   ///< key, value: the answer to kGet
  kBeat = 4,    ///< heartbeat
  kFailed = 5,  ///< kind, message, hint: the sender ends because of this
  kDone = 6,    ///< the sender ends because its work is done
  kAbort = 7,   ///< message, hint: all ranks end because of this
};

struct Frame {
  FrameType type = FrameType::kBeat;
  std::vector<std::string> fields;

  std::string field(std::size_t index) const {
    return index < fields.size() ? fields[index] : std::string();
  }
};

/// Frames over a socket that does not block. For authenticated peers only; even so no length beyond
/// kLargest is accepted.
class FrameStream {
 public:
  static constexpr std::uint32_t kLargest = 1 << 20;

  explicit FrameStream(FileDescriptor socket) : socket_(std::move(socket)) {}

  const FileDescriptor& socket() const { return socket_; }
  /// What cannot be written yet is kept for flush().
  void send(const Frame& frame);
  /// Throws kPeer on a broken connection.
  void flush();
  bool has_unsent() const { return !unsent_.empty(); }
  /// Reads what has arrived. False once the peer has closed the connection.
  bool receive();
  /// The next whole frame. Throws kPeer for a malformed one.
  std::optional<Frame> next();

 private:
  FileDescriptor socket_;
  std::string unsent_;
  std::string received_;
};

}  // namespace lockstep::comm
