#pragma once

#include <string>

#include "lockstep/base/error.h"
#include "lockstep/comm/context.h"

namespace lockstep::comm {

/// Finds out who is late for a collective operation of an engine that does not say: members that
/// wait for long announce it through the coordinator, and whoever has not done so when the time is
/// up is late. Operations that do not take long cost nothing.
class Attendance {
 public:
  /// The context outlives it.
  explicit Attendance(const Context& context) : context_(context) {}

  /// The next operation begins. All members must count the same operations.
  void next();
  /// This member has been waiting in it for a while.
  void announce();
  /// The error of a wait that ended after the timeout of the context: names the members that did
  /// not come, if any.
  Error timed_out(const std::string& what);

 private:
  std::string key(int member) const;

  const Context& context_;
  long operation_ = 0;
  long announced_ = 0;
};

}  // namespace lockstep::comm
