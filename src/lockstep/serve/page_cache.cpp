#include "lockstep/serve/page_cache.h"

#include <algorithm>

namespace lockstep::serve {
namespace {

constexpr Nanoseconds kFresh = 2'000'000'000;

}  // namespace

PageCache::Text PageCache::get(const std::string& key, const std::string& stamp,
                               const std::function<std::string()>& make) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found != entries_.end() &&
      (found->second.stamp == stamp || clock_.monotonic() - found->second.made_at < kFresh)) {
    return found->second.text;
  }
  Entry entry{stamp, 0, std::make_shared<const std::string>(make())};
  entry.made_at = clock_.monotonic();
  Text text = entry.text;
  if (found == entries_.end() && entries_.size() >= kMost) {
    entries_.erase(std::min_element(
        entries_.begin(), entries_.end(),
        [](const auto& a, const auto& b) { return a.second.made_at < b.second.made_at; }));
  }
  entries_[key] = std::move(entry);
  return text;
}

}  // namespace lockstep::serve
