#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lockstep::serve {

/// One speaker, many listeners. A message is kept once for all of them and forgotten after the
/// last `kept`; a listener that falls behind is notified of the loss, so a slow one costs no
/// memory and delays nobody. Thread-safe.
class LiveFeed {
 public:
  using Message = std::shared_ptr<const std::string>;

  explicit LiveFeed(std::size_t kept = 64) : kept_(kept) {}

  /// The number of the last message; 0 before the first.
  std::uint64_t last() const;
  void publish(std::string message);
  /// Wakes all listeners for good.
  void close();

  struct News {
    std::vector<Message> messages;
    std::uint64_t last = 0;  ///< to give as `seen` next time
    bool lost = false;       ///< messages between `seen` and these are lost
    bool closed = false;
  };
  /// What came after message `seen`; waits for it, but not longer than `most`.
  News wait(std::uint64_t seen, std::chrono::milliseconds most);

 private:
  const std::size_t kept_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> messages_;
  std::uint64_t last_ = 0;
  bool closed_ = false;
};

}  // namespace lockstep::serve
