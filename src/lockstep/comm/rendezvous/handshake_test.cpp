#include "lockstep/comm/rendezvous/handshake.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "lockstep/base/error.h"

namespace lockstep::comm {
namespace {

JobSecret secret_of(std::string_view text) {
  return compute_mac({}, std::as_bytes(std::span(text)));
}

const JobSecret kSecret = secret_of("a job");

/// An acceptor with a thread that serves it until the test is over.
class ServedAcceptor {
 public:
  explicit ServedAcceptor(int size)
      : listener_(listen_on({"127.0.0.1", 0})),
        endpoint_(local_endpoint(listener_)),
        acceptor_(std::move(listener_), kSecret, size),
        thread_([this] { serve(); }) {}
  ~ServedAcceptor() {
    over_ = true;
    thread_.join();
  }

  const Endpoint& endpoint() const { return endpoint_; }
  /// Stops serving and returns the ranks that were accepted.
  std::vector<int> close() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
    thread_ = std::thread([] {});
    return ranks_;
  }

 private:
  void serve() {
    while (!over_) {
      pollfd wanted{acceptor_.fd(), POLLIN, 0};
      ::poll(&wanted, 1, 5);
      for (auto& [socket, rank] : acceptor_.serve()) {
        ranks_.push_back(rank);
        sockets_.push_back(std::move(socket));
      }
    }
  }

  FileDescriptor listener_;
  Endpoint endpoint_;
  Acceptor acceptor_;
  std::atomic<bool> over_{false};
  std::vector<int> ranks_;
  std::vector<FileDescriptor> sockets_;
  std::thread thread_;
};

TEST(Handshake, AcceptsARankThatHasTheSecret) {
  ServedAcceptor acceptor(4);
  const FileDescriptor socket =
      connect_authenticated(acceptor.endpoint(), kSecret, {3, 4}, after(Seconds(20)));
  EXPECT_TRUE(socket);
  EXPECT_EQ(acceptor.close(), std::vector<int>{3});
}

TEST(Handshake, RefusesAnotherSecretSizeOrRank) {
  ServedAcceptor acceptor(4);
  const auto refused = [&](const JobSecret& secret, const Peer& self) {
    EXPECT_THROW(connect_authenticated(acceptor.endpoint(), secret, self, after(Seconds(20))),
                 Error);
  };
  refused(secret_of("an older job"), {1, 4});
  refused(kSecret, {1, 8});
  refused(kSecret, {4, 4});
  refused(kSecret, {-1, 4});
  EXPECT_TRUE(acceptor.close().empty());
}

TEST(Handshake, DetectsAnAcceptorWithoutTheSecret) {
  const FileDescriptor listener = listen_on({"127.0.0.1", 0});
  std::thread impostor([&] {
    pollfd wanted{listener.get(), POLLIN, 0};
    ::poll(&wanted, 1, 20'000);
    const FileDescriptor socket(::accept(listener.get(), nullptr, nullptr));
    std::vector<std::byte> bytes(40 + 32, std::byte{7});
    std::memcpy(bytes.data(), "LcksteP2", 8);
    ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    std::vector<std::byte> ignored(80);
    ::recv(socket.get(), ignored.data(), ignored.size(), MSG_WAITALL);
  });
  EXPECT_THROW(connect_authenticated(local_endpoint(listener), kSecret, {0, 2}, after(Seconds(20))),
               Error);
  impostor.join();
}

TEST(Handshake, UnauthenticatedPeersDoNotDelayARank) {
  ServedAcceptor acceptor(2);
  std::mt19937 random(3);
  std::vector<FileDescriptor> peers;
  // More than may be pending at once: some silent, some sending noise.
  for (std::size_t i = 0; i < 2 * Acceptor::kMostPending; ++i) {
    peers.push_back(connect_to(acceptor.endpoint(), after(Seconds(20))));
    std::vector<std::uint32_t> noise(random() % 64);
    for (auto& word : noise) word = random();
    if (i % 2 == 0) ::send(peers.back().get(), noise.data(), noise.size() * 4, MSG_NOSIGNAL);
  }
  const FileDescriptor socket =
      connect_authenticated(acceptor.endpoint(), kSecret, {1, 2}, after(Seconds(20)));
  EXPECT_TRUE(socket);
  EXPECT_EQ(acceptor.close(), std::vector<int>{1});
}

TEST(Handshake, RefusesAReplayedProof) {
  ServedAcceptor acceptor(2);
  // A peer that recorded the reply of a rank and sends it again.
  const FileDescriptor first = connect_to(acceptor.endpoint(), after(Seconds(20)));
  std::vector<std::byte> greeting(40);
  receive_all(first, greeting, after(Seconds(20)));
  const FileDescriptor relay = listen_on({"127.0.0.1", 0});
  std::vector<std::byte> recorded(80);
  std::thread listener([&] {
    pollfd wanted{relay.get(), POLLIN, 0};
    ::poll(&wanted, 1, 20'000);
    const FileDescriptor victim(::accept(relay.get(), nullptr, nullptr));
    ::send(victim.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL);
    ::recv(victim.get(), recorded.data(), recorded.size(), MSG_WAITALL);
  });
  EXPECT_THROW(connect_authenticated(local_endpoint(relay), kSecret, {1, 2}, after(Seconds(20))),
               Error);
  listener.join();
  // On another connection than the one whose greeting the proof answers.
  const FileDescriptor second = connect_to(acceptor.endpoint(), after(Seconds(20)));
  receive_all(second, greeting, after(Seconds(20)));
  send_all(second, recorded, after(Seconds(20)));
  std::vector<std::byte> answer(32);
  EXPECT_THROW(receive_all(second, answer, after(Seconds(20))), Error);
  EXPECT_TRUE(acceptor.close().empty());
}

}  // namespace
}  // namespace lockstep::comm
