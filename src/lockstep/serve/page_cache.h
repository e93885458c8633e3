#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "lockstep/base/clock.h"

namespace lockstep::serve {

/// Pages that many clients ask for at once are made once. Thread-safe.
class PageCache {
 public:
  using Text = std::shared_ptr<const std::string>;

  explicit PageCache(const Clock& clock) : clock_(clock) {}

  /// The text of `key` at `stamp` of the store, made where it is not there. One of an older stamp
  /// serves too while it is younger than two seconds: a store under training changes all the time.
  Text get(const std::string& key, const std::string& stamp,
           const std::function<std::string()>& make);

 private:
  struct Entry {
    std::string stamp;
    Nanoseconds made_at = 0;
    Text text;
  };
  static constexpr std::size_t kMost = 16;

  const Clock& clock_;
  std::mutex mutex_;  ///< held while a page is made: the next asker then finds it
  std::map<std::string, Entry> entries_;
};

}  // namespace lockstep::serve
