#pragma once

#include <httplib.h>

#include <chrono>

namespace lockstep::serve {

/// What a connection may cost.
struct ConnectionLimits {
  std::chrono::milliseconds idle{5'000};  ///< between requests
  std::chrono::milliseconds head{
      10'000};  ///< from the first byte of a request to the end of its head
  std::chrono::milliseconds body{120'000};  ///< from there to the end of its body
  std::chrono::milliseconds write{15'000};  ///< for one piece of an answer
  std::chrono::milliseconds linger{2'000};  ///< for a client to take in a refusal
  std::size_t head_bytes = 16 * 1024;
};

/// A socket with a deadline for the whole of each part of a request, not for each read: a client
/// that sends a byte now and then is not slow but hostile, and ends like one that sends nothing.
class ConnectionStream final : public httplib::Stream {
 public:
  ConnectionStream(socket_t socket, const ConnectionLimits& limits)
      : socket_(socket), limits_(limits) {}

  /// Waits for the next request; false when none comes in time or the peer has disconnected.
  bool wait_for_request();
  /// Closes the socket. Bytes that the client is still sending are taken and forgotten for a while:
  /// a socket that is closed with bytes unread tears down the connection, and the client would
  /// never see why it was refused.
  void close_after_answer();
  bool head_too_large() const { return head_read_ > limits_.head_bytes; }
  bool timed_out() const { return timed_out_; }

  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* data, std::size_t size) override;
  ssize_t write(const char* data, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

 private:
  using Clock = std::chrono::steady_clock;

  bool poll_until(short events, Clock::time_point deadline) const;
  void watch_head(const char* data, std::size_t size);

  socket_t socket_;
  const ConnectionLimits& limits_;
  std::string buffer_;
  std::size_t at_ = 0;  ///< of the buffer, first byte not handed out
  Clock::time_point deadline_{};
  std::size_t head_read_ = 0;
  int line_ends_ = 0;  ///< line breaks in a row; two end the head
  bool head_done_ = false;
  bool timed_out_ = false;
};

}  // namespace lockstep::serve
