#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/measure/step_recorder.h"
#include "lockstep/record/choices.h"
#include "lockstep/train/sync/device.h"
#include "lockstep/train/sync/device_timer.h"

namespace lockstep::train {

/// A step with its times, and when its buckets were handed over.
struct TimedStep {
  record::StepTimes times;
  std::vector<Nanoseconds> handed_over;
};

/// Times the phases of steps where they happen. On a CPU that is when the host gets there. On a GPU
/// the host only queues work: phases end with events on the computing stream, which are read one
/// step late, when the device has passed them, so that the host does not wait for any. Where the
/// CUDA runtime has no such events, the host waits at the end of each phase instead.
///
/// With PhaseTiming::kSampled only one step in kSampleEvery is measured on a GPU; the others have
/// their own duration, divided as that of the step measured last.
class StepTimer {
 public:
  static constexpr std::int64_t kSampleEvery = 16;

  /// The device must outlive it.
  StepTimer(const Clock& clock, int rank, const Device& device, record::PhaseTiming timing);

  void begin(int epoch, std::int64_t step);
  /// All that was called or queued since the last end of a phase belongs to this one.
  void end_phase(record::Phase phase);
  /// The host waited that long for the loader, for the input that the next phase copies.
  void waited_for_input(double seconds) { input_wait_s_ += seconds; }
  /// The last gradients are handed over: from here on, communication is exposed.
  void ready();
  /// The host is about to queue a read-back, after the end of a phase; results_read() follows when
  /// it has arrived.
  void results_queued();
  void results_read();
  void end(std::int64_t examples, std::vector<Nanoseconds> handed_over);

  /// Steps whose times are known, in order.
  std::vector<TimedStep> take();
  /// Waits until those of all steps are. What follows does not belong to any step.
  void finish();

 private:
  using Mark = DeviceTimer::Mark;
  struct Marked {
    TimedStep step;
    Mark from = nullptr;  ///< the end of the step before, or the same as `begin`
    Mark begin = nullptr;
    std::vector<std::pair<record::Phase, Mark>> phases;
    Mark ready = nullptr;
    Mark results = nullptr;
    Nanoseconds results_at = 0;
    double input_wait_s = 0;
  };

  bool by_events() const { return events_ && measured_; }
  void resolve(Marked& marked);
  void add_host_step(record::StepTimes times, std::vector<Nanoseconds> handed_over);

  const Device& device_;
  record::PhaseTiming timing_;
  measure::StepRecorder recorder_;
  std::optional<DeviceTimer> events_;
  const Clock& clock_;
  int rank_;
  bool measured_ = true;
  double input_wait_s_ = 0;
  std::optional<Marked> current_;
  std::optional<Marked> passing_;  ///< ended, but the device is perhaps not through with it
  Mark last_end_ = nullptr;
  std::optional<record::StepTimes> sample_;
  std::vector<TimedStep> done_;
};

}  // namespace lockstep::train
