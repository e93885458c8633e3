#include "lockstep/comm/c10d/proved_device.h"

// CMake looks whether LibTorch uses the Gloo whose headers are here.
#if LOCKSTEP_HAS_GLOO_PAIRS

#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>

#include "lockstep/base/error.h"

#endif

namespace lockstep::comm {

#if LOCKSTEP_HAS_GLOO_PAIRS

namespace {

namespace tcp = ::gloo::transport::tcp;

/// While it lives, the device's thread looks at no socket.
class ThreadPause final : public tcp::Handler {
 public:
  explicit ThreadPause(tcp::Device& device)
      : device_(device), wake_(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (wake_ < 0) {
      throw Error(ErrorKind::kEnvironment, "cannot open an event descriptor",
                  "raise the limit on open files (ulimit -n)");
    }
    device_.registerDescriptor(wake_, EPOLLIN, this);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return holding_; });
  }

  ~ThreadPause() override {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    device_.unregisterDescriptor(wake_, this);
    ::close(wake_);
  }

  void handleEvents(int) override {
    std::unique_lock lock(mutex_);
    holding_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return over_; });
  }

 private:
  tcp::Device& device_;
  int wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool holding_ = false;
  bool over_ = false;
};

class ProvedPair final : public tcp::Pair {
 public:
  /// To be called during a ThreadPause: Gloo's pair begins to listen as soon as it exists, and is
  /// made to end that before anybody who came can be let in.
  ProvedPair(tcp::Context* context, tcp::Device* device, int rank, Seconds timeout, Socket socket)
      : Pair(context, device, rank,
             std::chrono::milliseconds(static_cast<std::int64_t>(timeout.count() * 1000))),
        socket_(std::move(socket)) {
    const std::lock_guard lock(m_);
    ::close(fd_);  // which also takes it out of the device's list
    fd_ = -1;
    state_ = INITIALIZING;
  }

  /// The address is that of the port that was closed above.
  void connect(const std::vector<char>&) override {
    const std::lock_guard lock(m_);
    if (!socket_) throw Error(ErrorKind::kInternal, "Gloo connected a pair twice");
    fd_ = socket_.release();
    handleConnected();
  }

 private:
  Socket socket_;
};

class ProvedContext final : public tcp::Context {
 public:
  ProvedContext(const std::shared_ptr<tcp::Device>& device, int rank, int size,
                std::vector<Socket> sockets, Seconds timeout)
      : tcp::Context(device, rank, size) {
    const ThreadPause pause(*device);
    for (int peer = 0; peer < size; ++peer) {
      const auto place = static_cast<std::size_t>(peer);
      if (peer == rank) continue;
      pairs_[place] = std::make_unique<ProvedPair>(this, device.get(), peer, timeout,
                                                   std::move(sockets.at(place)));
    }
  }

  std::unique_ptr<::gloo::transport::Pair>& createPair(int rank) override {
    return pairs_.at(static_cast<std::size_t>(rank));
  }
};

class ProvedDevice final : public tcp::Device {
 public:
  ProvedDevice(const tcp::attr& loopback, std::vector<Socket> sockets, Seconds timeout)
      : tcp::Device(loopback), sockets_(std::move(sockets)), timeout_(timeout) {}

  std::shared_ptr<::gloo::transport::Context> createContext(int rank, int size) override {
    if (static_cast<std::size_t>(size) != sockets_.size()) {
      throw Error(ErrorKind::kInternal, "Gloo asked for connections it was not given");
    }
    return std::make_shared<ProvedContext>(shared_from_this(), rank, size,
                                           std::exchange(sockets_, {}), timeout_);
  }

 private:
  std::vector<Socket> sockets_;
  Seconds timeout_;
};

}  // namespace

std::shared_ptr<::gloo::transport::Device> make_proved_device(std::vector<Socket> sockets,
                                                              Seconds timeout) {
  return std::make_shared<ProvedDevice>(tcp::CreateDeviceAttr({"127.0.0.1"}), std::move(sockets),
                                        timeout);
}

bool has_proved_device() {
  return true;
}

#else

std::shared_ptr<::gloo::transport::Device> make_proved_device(std::vector<Socket>, Seconds) {
  return nullptr;
}

bool has_proved_device() {
  return false;
}

#endif

}  // namespace lockstep::comm
