#include "event_channel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "lockstep/base/error.h"
#include "lockstep/record/worker_environment.h"

namespace lockstep::worker {
namespace {

namespace environment = record::worker_environment;

constexpr std::chrono::seconds kBeat{1};

}  // namespace

EventChannel::EventChannel(const std::string& record_path) {
  if (const char* pipe = std::getenv(environment::kEventPipe)) {
    fd_ = std::atoi(pipe);
    has_pipe_ = true;
    return;
  }
  if (record_path.empty() || record_path == "-") return;
  fd_ = ::open(record_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) {
    throw Error(ErrorKind::kData,
                fmt::format("cannot write the record to {}: {}", record_path, std::strerror(errno)),
                "give --record a file in a writable folder");
  }
}

EventChannel::~EventChannel() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ending_changed_.notify_all();
  if (beater_.joinable()) beater_.join();
}

void EventChannel::send(const record::Event& event) {
  const std::string line = record::to_line(event) + "\n";
  const std::lock_guard lock(mutex_);
  write(line);
}

void EventChannel::write(const std::string& line) {
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t wrote = ::write(fd_, line.data() + at, line.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) throw Error(ErrorKind::kPeer, "the launcher of this worker has exited");
    at += static_cast<std::size_t>(wrote);
  }
}

void EventChannel::start_beating() {
  if (has_pipe_) beater_ = std::thread([this] { beat(); });
}

void EventChannel::beat() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    try {
      write("{\"v\":1,\"type\":\"alive\"}\n");
    } catch (const Error&) {
      return;  // the next send() reports it
    }
    ending_changed_.wait_for(lock, kBeat, [&] { return ending_; });
  }
}

}  // namespace lockstep::worker
