#include "lockstep/nets/share_work.h"

#include <omp.h>

#include <algorithm>

namespace lockstep::nets {

void share_work_parts(std::int64_t count, std::int64_t grain, WorkPart part, const void* work) {
  if (count <= 0) return;
  const std::int64_t most = omp_in_parallel() != 0 ? 1 : omp_get_max_threads();
  const int threads =
      static_cast<int>(std::clamp<std::int64_t>(count / grain, 1, std::max<std::int64_t>(most, 1)));
  if (threads == 1) {
    part(work, 0, count);
    return;
  }
  // The whole team, of which some may do nothing: libgomp ends the threads that a smaller team
  // leaves out and has to start them again for the next operation that uses all.
#pragma omp parallel
  {
    const std::int64_t team = std::min(omp_get_num_threads(), threads);
    const std::int64_t thread = omp_get_thread_num();
    const std::int64_t begin = count * thread / team, end = count * (thread + 1) / team;
    if (thread < team && begin < end) part(work, begin, end);
  }
}

}  // namespace lockstep::nets
