#include "lockstep/train/sync/device_timer.h"

#include <fmt/format.h>

#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/train/sync/cuda_function.h"

namespace lockstep::train {
namespace {

void require_success(int code, const char* what) {
  if (code == 0) return;
  throw Error(ErrorKind::kInternal, fmt::format("CUDA cannot {}: error {}", what, code));
}

template <class Function>
void find_function(Function*& function, const char* name) {
  function = cuda_function<Function>(name);
}

}  // namespace

std::optional<DeviceTimer> DeviceTimer::find() {
  Runtime runtime;
  find_function(runtime.create, "cudaEventCreate");
  find_function(runtime.record, "cudaEventRecord");
  find_function(runtime.elapsed_ms, "cudaEventElapsedTime");
  find_function(runtime.destroy, "cudaEventDestroy");
  const bool whole = runtime.create != nullptr && runtime.record != nullptr &&
                     runtime.elapsed_ms != nullptr && runtime.destroy != nullptr;
  return whole ? std::optional(DeviceTimer(runtime)) : std::nullopt;
}

DeviceTimer::DeviceTimer(DeviceTimer&& other) noexcept
    : runtime_(other.runtime_),
      all_(std::exchange(other.all_, {})),
      free_(std::exchange(other.free_, {})) {}

DeviceTimer::~DeviceTimer() {
  for (const Mark mark : all_) runtime_.destroy(mark);
}

DeviceTimer::Mark DeviceTimer::mark() {
  Mark mark = nullptr;
  if (free_.empty()) {
    require_success(runtime_.create(&mark), "make an event");
    all_.push_back(mark);
  } else {
    mark = free_.front();
    free_.pop_front();
  }
  require_success(runtime_.record(mark, nullptr), "record an event");
  return mark;
}

double DeviceTimer::seconds_between(Mark from, Mark to) const {
  float milliseconds = 0;
  require_success(runtime_.elapsed_ms(&milliseconds, from, to), "read the time between two events");
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace lockstep::train
