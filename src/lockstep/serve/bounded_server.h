#pragma once

#include <httplib.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "lockstep/serve/connection_stream.h"

namespace lockstep::serve {

/// Threads as they are needed, up to a bound; every connection uses one while it lasts.
class ThreadsOnDemand final : public httplib::TaskQueue {
 public:
  explicit ThreadsOnDemand(std::size_t most) : most_(most) {}

  void enqueue(std::function<void()> job) override;
  void shutdown() override;

 private:
  void work();

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool ending_ = false;
};

/// httplib's server with deadlines and bounds for a whole request.
class BoundedServer final : public httplib::Server {
 public:
  explicit BoundedServer(ConnectionLimits limits) : limits_(limits) {}

  /// After binding: lets many clients connect at once. httplib queues five, and the others would be
  /// left to retry for seconds.
  void queue_connections(int most);

 private:
  bool process_and_close_socket(socket_t socket) override;

  const ConnectionLimits limits_;
};

}  // namespace lockstep::serve
