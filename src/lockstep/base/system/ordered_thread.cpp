#include "lockstep/base/system/ordered_thread.h"

#include <utility>

namespace lockstep {

OrderedThread::OrderedThread() : thread_([this] { run(); }) {}

OrderedThread::~OrderedThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void OrderedThread::add(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

bool OrderedThread::wait(Seconds most) {
  std::unique_lock lock(mutex_);
  const bool over =
      changed_.wait_for(lock, most, [&] { return failure_ || (jobs_.empty() && !busy_); });
  if (failure_) std::rethrow_exception(failure_);
  return over;
}

void OrderedThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || (!jobs_.empty() && !failure_); });
    if (ending_) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    lock.unlock();
    std::exception_ptr problem;
    try {
      job();
    } catch (...) {
      problem = std::current_exception();
    }
    lock.lock();
    busy_ = false;
    failure_ = problem;
    changed_.notify_all();
  }
}

}  // namespace lockstep
