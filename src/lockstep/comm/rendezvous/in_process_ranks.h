#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "lockstep/base/system/random_bytes.h"
#include "lockstep/comm/rendezvous/session.h"

namespace lockstep::comm {

/// For tests: ranks as threads of one process, which find each other over loopback as processes
/// would.
inline SessionOptions test_session(int rank, int size, const std::string& job) {
  SessionOptions options;
  options.place.rank = rank;
  options.place.size = size;
  options.place.rendezvous_host = "127.0.0.1";
  options.secret = compute_mac({}, std::as_bytes(std::span(job)));
  options.timeout = Seconds(20);
  options.spin = false;
  return options;
}

/// Runs `body` on all ranks at once and leaves properly.
inline void on_all_ranks(int size, const std::string& job,
                         const std::function<void(Session&)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      Session session(test_session(rank, size, job));
      body(session);
      session.membership().leave();
    });
  }
  for (auto& thread : threads) thread.join();
}

/// Tests that run at the same time have different jobs.
inline std::string fresh_job() {
  Mac random{};
  fill_random(random);
  return std::string(reinterpret_cast<const char*>(random.data()), random.size());
}

}  // namespace lockstep::comm
