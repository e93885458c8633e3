#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "lockstep/base/units.h"

namespace lockstep::comm {

/// A thread that does what it is given, one after the other, while its owner computes. After the
/// first job that throws it does nothing more.
class OrderedThread {
 public:
  OrderedThread();
  /// Waits for the job that is being done; those after it are dropped.
  ~OrderedThread();

  void add(std::function<void()> job);
  /// Blocks until all is done or `most` has passed: then false. Rethrows what a job threw.
  bool wait(Seconds most);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::exception_ptr failure_;
  bool busy_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace lockstep::comm
