#include "lockstep/serve/live_feed.h"

namespace lockstep::serve {

std::uint64_t LiveFeed::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

void LiveFeed::publish(std::string message) {
  {
    const std::lock_guard lock(mutex_);
    messages_.push_back(std::make_shared<const std::string>(std::move(message)));
    if (messages_.size() > kept_) messages_.pop_front();
    ++last_;
  }
  changed_.notify_all();
}

void LiveFeed::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

LiveFeed::News LiveFeed::wait(std::uint64_t seen, std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [&] { return closed_ || last_ > seen; });
  News news;
  news.last = last_;
  news.closed = closed_;
  const std::uint64_t missed = last_ > seen ? last_ - seen : 0;
  news.lost = missed > messages_.size();
  const std::size_t count = news.lost ? messages_.size() : static_cast<std::size_t>(missed);
  news.messages.assign(messages_.end() - static_cast<std::ptrdiff_t>(count), messages_.end());
  return news;
}

}  // namespace lockstep::serve
