#include "lockstep/comm/handshake.h"

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

const JobSecret kSecret = sha256("a job");

/// A doorman with a thread that serves it until the test is over.
class OpenDoor {
 public:
  explicit OpenDoor(int size)
      : listener_(listen_on({"127.0.0.1", 0})),
        endpoint_(listener_.local()),
        doorman_(std::move(listener_), kSecret, Purpose::kControl, size),
        thread_([this] { serve(); }) {}
  ~OpenDoor() {
    over_ = true;
    thread_.join();
  }

  const Endpoint& endpoint() const { return endpoint_; }
  /// Ends the service and tells who came in.
  std::vector<int> close() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
    thread_ = std::thread([] {});
    return ranks_;
  }

 private:
  void serve() {
    while (!over_) {
      pollfd wanted{doorman_.fd(), POLLIN, 0};
      ::poll(&wanted, 1, 5);
      for (auto& [socket, rank] : doorman_.serve()) {
        ranks_.push_back(rank);
        sockets_.push_back(std::move(socket));
      }
    }
  }

  Socket listener_;
  Endpoint endpoint_;
  Doorman doorman_;
  std::atomic<bool> over_{false};
  std::vector<int> ranks_;
  std::vector<Socket> sockets_;
  std::thread thread_;
};

Visitor rank_of(int rank, int size) {
  return {Purpose::kControl, rank, size};
}

TEST(Handshake, LetsInWhoKnowsTheSecret) {
  OpenDoor door(4);
  const Socket socket = introduce(door.endpoint(), kSecret, rank_of(3, 4), after(Seconds(20)));
  EXPECT_TRUE(socket);
  EXPECT_EQ(door.close(), std::vector<int>{3});
}

TEST(Handshake, RefusesAnotherSecretSizeRankOrPurpose) {
  OpenDoor door(4);
  const auto refused = [&](const JobSecret& secret, const Visitor& visitor) {
    EXPECT_THROW(introduce(door.endpoint(), secret, visitor, after(Seconds(20))), Error);
  };
  refused(sha256("an older job"), rank_of(1, 4));
  refused(kSecret, rank_of(1, 8));
  refused(kSecret, rank_of(4, 4));
  refused(kSecret, rank_of(-1, 4));
  refused(kSecret, {Purpose::kData, 1, 4});
  EXPECT_TRUE(door.close().empty());
}

TEST(Handshake, NoticesAHostThatDoesNotKnowTheSecret) {
  const Socket listener = listen_on({"127.0.0.1", 0});
  std::thread impostor([&] {
    pollfd wanted{listener.fd(), POLLIN, 0};
    ::poll(&wanted, 1, 20'000);
    const Socket socket(::accept(listener.fd(), nullptr, nullptr));
    std::vector<std::byte> bytes(40 + 32, std::byte{7});
    std::memcpy(bytes.data(), "LcksteP1", 8);
    ::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    std::vector<std::byte> ignored(88);
    ::recv(socket.fd(), ignored.data(), ignored.size(), MSG_WAITALL);
  });
  EXPECT_THROW(introduce(listener.local(), kSecret, rank_of(0, 2), after(Seconds(20))), Error);
  impostor.join();
}

TEST(Handshake, NobodyKeepsARankWaiting) {
  OpenDoor door(2);
  std::mt19937 random(3);
  std::vector<Socket> strangers;
  // More than may be pending at once: some silent, some sending noise.
  for (std::size_t i = 0; i < 2 * Doorman::kMostPending; ++i) {
    strangers.push_back(connect_to(door.endpoint(), after(Seconds(20))));
    std::vector<std::uint32_t> noise(random() % 64);
    for (auto& word : noise) word = random();
    if (i % 2 == 0) ::send(strangers.back().fd(), noise.data(), noise.size() * 4, MSG_NOSIGNAL);
  }
  const Socket socket = introduce(door.endpoint(), kSecret, rank_of(1, 2), after(Seconds(20)));
  EXPECT_TRUE(socket);
  EXPECT_EQ(door.close(), std::vector<int>{1});
}

TEST(Handshake, AReplayedProofDoesNotServeTwice) {
  OpenDoor door(2);
  // A stranger who overheard an introduction and says the same words again.
  const Socket first = connect_to(door.endpoint(), after(Seconds(20)));
  std::vector<std::byte> greeting(40);
  first.receive(greeting, after(Seconds(20)));
  const Socket relay = listen_on({"127.0.0.1", 0});
  std::vector<std::byte> overheard(88);
  std::thread listener([&] {
    pollfd wanted{relay.fd(), POLLIN, 0};
    ::poll(&wanted, 1, 20'000);
    const Socket victim(::accept(relay.fd(), nullptr, nullptr));
    ::send(victim.fd(), greeting.data(), greeting.size(), MSG_NOSIGNAL);
    ::recv(victim.fd(), overheard.data(), overheard.size(), MSG_WAITALL);
  });
  EXPECT_THROW(introduce(relay.local(), kSecret, rank_of(1, 2), after(Seconds(20))), Error);
  listener.join();
  // On another connection than the one whose greeting the proof answers.
  const Socket second = connect_to(door.endpoint(), after(Seconds(20)));
  second.receive(greeting, after(Seconds(20)));
  second.send(overheard, after(Seconds(20)));
  std::vector<std::byte> answer(32);
  EXPECT_THROW(second.receive(answer, after(Seconds(20))), Error);
  EXPECT_TRUE(door.close().empty());
}

}  // namespace
}  // namespace lockstep::comm
