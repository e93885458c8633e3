#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "lockstep/record/event.h"

namespace lockstep::worker {

/// Where the events of a worker go: the pipe from its launcher, a file, or standard output.
/// Thread-safe; lines stay whole.
class EventChannel {
 public:
  /// `record_path` is a file to write to from its start, "-" or empty for standard output; the pipe
  /// of LOCKSTEP_EVENT_FD goes before both. Throws kData when the file cannot be written.
  explicit EventChannel(const std::string& record_path);
  ~EventChannel();
  EventChannel(const EventChannel&) = delete;
  EventChannel& operator=(const EventChannel&) = delete;

  /// Whether this rank has its own pipe to a launcher.
  bool has_pipe() const { return has_pipe_; }

  /// Blocks while the pipe is full. Throws kPeer when its reader has exited.
  void send(const record::Event& event);

  /// From now on sends one heartbeat per second, if there is a pipe.
  void start_beating();

 private:
  void write(const std::string& line);
  void beat();

  int fd_ = 1;
  bool has_pipe_ = false;
  std::mutex mutex_;
  std::condition_variable ending_changed_;
  bool ending_ = false;
  std::thread beater_;
};

}  // namespace lockstep::worker
