#include "lockstep/comm/rendezvous/attendance.h"

#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "lockstep/comm/rendezvous/membership.h"
#include "lockstep/comm/rendezvous/peer_watch.h"

namespace lockstep::comm {
namespace {

/// To ask the coordinator for what is there or not.
constexpr Seconds kAnswer{0.2};

}  // namespace

void Attendance::next() {
  ++operation_;
}

void Attendance::announce() {
  if (announced_ == operation_) return;
  announced_ = operation_;
  context_.membership->put(key(context_.rank), std::to_string(operation_));
}

Error Attendance::timed_out(const std::string& what) {
  announce();
  std::vector<int> late;
  for (int member = 0; member < context_.size; ++member) {
    if (member == context_.rank) continue;
    long reached = 0;
    try {
      reached = std::atol(context_.membership->get(key(member), kAnswer).c_str());
    } catch (const Error&) {
      context_.membership->check();
    }
    if (reached < operation_) late.push_back(context_.world_rank(member));
  }
  const std::string time = format_seconds(context_.timeout);
  if (late.empty()) {
    return {
        ErrorKind::kPeer, fmt::format("the {} did not finish within {}", what, time),
        "all ranks reached it: look for a lost connection; raise --timeout if it was only slow"};
  }
  return {ErrorKind::kPeer,
          fmt::format("{} did not reach the {} within {}", name_ranks(late), what, time),
          "see its output; raise --timeout if it was only slow"};
}

std::string Attendance::key(int member) const {
  return fmt::format("waiting/{}/{}", context_.group, member);
}

}  // namespace lockstep::comm
