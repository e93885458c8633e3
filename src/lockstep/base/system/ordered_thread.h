#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "lockstep/base/units.h"

namespace lockstep {

/// A thread that runs jobs in the order in which they were added, while its owner computes. After
/// the first job that throws it runs none.
class OrderedThread {
 public:
  OrderedThread();
  /// Waits for the job that is running; those after it are dropped.
  ~OrderedThread();

  void add(std::function<void()> job);
  /// Blocks until all jobs are done, or returns false after `most`. Rethrows what a job threw.
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

}  // namespace lockstep
