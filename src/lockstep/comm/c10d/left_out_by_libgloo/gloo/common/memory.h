#pragma once

// Debian's libgloo-dev leaves this header out, though others of its headers include it. What those
// need of it is the size of two wrappers around standard pointers, each of which Gloo's own code
// alone fills and reads.
#include <memory>

namespace gloo {

template <class T>
class WeakNonOwningPtr final {
  std::weak_ptr<T> ptr_;
};

template <class T>
class NonOwningPtr final {
  std::shared_ptr<T> ptr_;
};

}  // namespace gloo
