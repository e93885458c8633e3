#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/comm/socket.h"

namespace lockstep::comm {

/// What the ranks and the coordinator of a run say to each other.
enum class FrameType : std::uint8_t {
  kPut = 1,     ///< key, value: for all to get
  kGet = 2,     ///< key: send me its value once it is there
  kValue = 3,   ///< key, value: the answer
  kBeat = 4,    ///< I am alive
  kFailed = 5,  ///< kind, message, hint: I end because of this
  kDone = 6,    ///< I leave because my work is done
  kAbort = 7,   ///< message, hint: all end because of this
};

struct Frame {
  FrameType type = FrameType::kBeat;
  std::vector<std::string> fields;

  std::string field(std::size_t index) const {
    return index < fields.size() ? fields[index] : std::string();
  }
};

/// Frames over a socket that does not block. Only for connections whose other end has proved who it
/// is; even so no length it names is believed beyond kLargest.
class FrameStream {
 public:
  static constexpr std::uint32_t kLargest = 1 << 20;

  explicit FrameStream(Socket socket) : socket_(std::move(socket)) {}

  const Socket& socket() const { return socket_; }
  /// Keeps what cannot be written yet; flush() goes on with it.
  void send(const Frame& frame);
  /// Throws kPeer on a broken connection.
  void flush();
  bool has_unsent() const { return !unsent_.empty(); }
  /// Reads what is there. False once the other end has closed. Throws kPeer for what is no frame.
  bool receive();
  std::optional<Frame> next();

 private:
  Socket socket_;
  std::string unsent_;
  std::string received_;
};

}  // namespace lockstep::comm
