#include "lockstep/serve/bounded_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <string_view>

namespace lockstep::serve {
namespace {

constexpr int kRequestsOfAConnection = 100;

/// For a request so wrong that no handler sees it.
void refuse(ConnectionStream& stream, std::string_view status) {
  const std::string text =
      "HTTP/1.1 " + std::string(status) + "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
  stream.write(text.data(), text.size());
}

}  // namespace

void ThreadsOnDemand::enqueue(std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  if (idle_ < jobs_.size() && threads_.size() < most_) {
    threads_.emplace_back([this] { work(); });
  }
  changed_.notify_one();
}

void ThreadsOnDemand::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [&] { return ending_ || !jobs_.empty(); });
    --idle_;
    if (jobs_.empty()) return;
    const auto job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
}

void ThreadsOnDemand::shutdown() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void BoundedServer::queue_connections(int most) {
  ::listen(svr_sock_, most);
}

bool BoundedServer::process_and_close_socket(socket_t socket) {
  ConnectionStream stream(socket, limits_);
  bool fine = false;
  for (int left = kRequestsOfAConnection; left > 0 && svr_sock_ != INVALID_SOCKET; --left) {
    if (!stream.wait_for_request()) break;
    bool closed = false;
    fine = process_request(stream, left == 1, closed, nullptr);
    if (!fine || closed) break;
  }
  if (stream.head_too_large()) {
    refuse(stream, "431 Request Header Fields Too Large");
  } else if (!fine && stream.timed_out()) {
    refuse(stream, "408 Request Timeout");
  }
  ::shutdown(socket, SHUT_RDWR);
  ::close(socket);
  return fine;
}

}  // namespace lockstep::serve
