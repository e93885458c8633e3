#include "lockstep/serve/bounded_server.h"

#include <sys/socket.h>

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

/// What follows such a request may be its body, and nobody may have read that. It must not be taken
/// for the next request: a page elsewhere could hide one, with headers that browsers let no page
/// set, in a file that it sends.
bool may_have_body(const httplib::Request& request) {
  return request.has_header("Content-Length") || request.has_header("Transfer-Encoding");
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
    bool last = true;  // unless the head is one of a request
    fine = process_request(stream, left == 1, closed, [&](httplib::Request& request) {
      // httplib would compress every answer again, with brotli at its slowest: over a second for
      // the page alone.
      request.headers.erase("Accept-Encoding");
      last = may_have_body(request);
      if (!last) return;
      request.headers.erase("Connection");
      request.set_header("Connection", "close");
    });
    if (!fine || closed || last) break;
  }
  if (stream.head_too_large()) {
    refuse(stream, "431 Request Header Fields Too Large");
  } else if (!fine && stream.timed_out()) {
    refuse(stream, "408 Request Timeout");
  }
  stream.close_after_answer();
  return fine;
}

}  // namespace lockstep::serve
