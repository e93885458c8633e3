#pragma once

#include <cstdint>
#include <type_traits>

namespace lockstep::nets {

using WorkPart = void (*)(const void* work, std::int64_t begin, std::int64_t end);

/// As share_work(), with the function and its state apart.
void share_work_parts(std::int64_t count, std::int64_t grain, WorkPart part, const void* work);

/// Calls work(begin, end) for parts that together are [0, count), on the threads that LibTorch's
/// own operations use: there is one pool, so that no two compete. Below `grain` items per thread
/// fewer threads are used, down to the calling one alone, which also works alone inside a parallel
/// region. `work` must not throw.
template <class Work>
void share_work(std::int64_t count, std::int64_t grain, const Work& work) {
  const auto part = [](const void* self, std::int64_t begin, std::int64_t end) {
    (*static_cast<const Work*>(self))(begin, end);
  };
  share_work_parts(count, grain, part, &work);
}

}  // namespace lockstep::nets
