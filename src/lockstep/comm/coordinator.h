#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/base/error.h"
#include "lockstep/comm/handshake.h"

namespace lockstep::comm {

/// A rank that is lost to the run, and why.
struct RankFailure {
  int rank = 0;
  Error error;
};

struct CoordinatorOptions {
  std::string address = "127.0.0.1";  ///< of this host, to listen on
  std::vector<int> ports;             ///< the first that is free is taken
  JobSecret secret{};
  int size = 1;
  Seconds join{60};     ///< longest wait for all ranks
  Seconds silence{10};  ///< a rank not heard of for that long has hung
  /// Told once, from a thread of the coordinator, what ended the run.
  std::function<void(const RankFailure&)> on_failure = [](const RankFailure&) {};
};

/// Keeps the ranks of one run together, from a thread of its own: lets them in and nobody else,
/// keeps what they tell each other (addresses), hears their heartbeats, and when one dies, hangs or
/// fails tells all others why. It listens only until all ranks are there.
class Coordinator {
 public:
  /// Throws kEnvironment when it cannot listen.
  explicit Coordinator(CoordinatorOptions options);
  /// Waits up to 5 s for the ranks to leave.
  ~Coordinator();

  int port() const { return port_; }

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
  int port_ = 0;
};

/// Ports on which the ranks of that job look for each other; below those the kernel gives out.
std::vector<int> ports_of_job(const JobSecret& secret);

}  // namespace lockstep::comm
