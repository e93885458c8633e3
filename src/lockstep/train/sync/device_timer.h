#pragma once

#include <deque>
#include <optional>

namespace lockstep::train {

/// Moments on the computing stream of a GPU, read from the device's own clock, so that phases can
/// be timed without making the host wait at their ends. It uses the events of the CUDA runtime that
/// LibTorch brings, found at run time. One thread, with its GPU selected; the computing stream is
/// the default stream.
class DeviceTimer {
 public:
  using Mark = void*;

  /// Nothing where the CUDA runtime is not among the loaded libraries.
  static std::optional<DeviceTimer> find();
  ~DeviceTimer();
  DeviceTimer(DeviceTimer&& other) noexcept;
  DeviceTimer& operator=(DeviceTimer&&) = delete;

  /// The moment when the device has done all that was queued before. Does not block.
  Mark mark();
  /// From one moment to a later one, in seconds. The device must have passed both: throws
  /// kInternal otherwise.
  double seconds_between(Mark from, Mark to) const;
  /// The mark is not used any more.
  void release(Mark mark) { free_.push_back(mark); }

 private:
  struct Runtime {
    int (*create)(Mark*) = nullptr;
    int (*record)(Mark, void* stream) = nullptr;
    int (*elapsed_ms)(float*, Mark, Mark) = nullptr;
    int (*destroy)(Mark) = nullptr;
  };
  explicit DeviceTimer(const Runtime& runtime) : runtime_(runtime) {}

  Runtime runtime_;
  std::deque<Mark> all_;
  std::deque<Mark> free_;
};

}  // namespace lockstep::train
