#include "lockstep/train/trainer/step_timer.h"

#include <algorithm>

namespace lockstep::train {
namespace {

std::int64_t nanoseconds(double seconds) {
  return static_cast<std::int64_t>(seconds * 1e9);
}

/// A step that was not measured: its duration in the proportions of one that was.
void divide_as(const record::StepTimes& sample, record::StepTimes& step) {
  const double scale = sample.total_s > 0 ? step.total_s / sample.total_s : 0;
  for (std::size_t i = 0; i < step.phase_s.size(); ++i) {
    step.phase_s[i] = sample.phase_s[i] * scale;
  }
  step.ready_ns =
      step.start_ns +
      static_cast<std::int64_t>(scale * static_cast<double>(sample.ready_ns - sample.start_ns));
}

}  // namespace

StepTimer::StepTimer(const Clock& clock, int rank, const Device& device, record::PhaseTiming timing)
    : device_(device),
      timing_(timing),
      recorder_(clock, rank),
      events_(device.is_cpu() ? std::nullopt : DeviceTimer::find()),
      clock_(clock),
      rank_(rank) {}

void StepTimer::begin(int epoch, std::int64_t step) {
  measured_ = device_.is_cpu() || timing_ == record::PhaseTiming::kFull ||
              step % kSampleEvery == 1 || !sample_;
  if (!by_events()) {
    recorder_.begin(epoch, step);
    return;
  }
  current_.emplace();
  current_->step.times = {.rank = rank_, .epoch = epoch, .step = step};
  current_->begin = events_->mark();
  current_->from = last_end_ != nullptr ? last_end_ : current_->begin;
}

void StepTimer::end_phase(record::Phase phase) {
  if (by_events()) {
    current_->phases.emplace_back(phase, events_->mark());
  } else if (measured_) {
    device_.wait();
    recorder_.end_phase(phase);
  }
}

void StepTimer::ready() {
  if (by_events()) {
    current_->ready = current_->phases.back().second;
  } else {
    recorder_.ready();
  }
}

void StepTimer::results_queued() {
  if (by_events()) current_->results = current_->phases.back().second;
}

void StepTimer::results_read() {
  if (by_events()) current_->results_at = clock_.monotonic();
  // The device has passed this step's results, and with them all of the step before.
  if (passing_) resolve(*passing_);
  passing_.reset();
}

void StepTimer::end(std::int64_t examples, std::vector<Nanoseconds> handed_over) {
  if (!by_events()) {
    if (last_end_ != nullptr) events_->release(std::exchange(last_end_, nullptr));
    add_host_step(recorder_.end(examples), std::move(handed_over));
    input_wait_s_ = 0;
    return;
  }
  current_->step.times.examples = examples;
  current_->step.handed_over = std::move(handed_over);
  current_->input_wait_s = std::exchange(input_wait_s_, 0);
  last_end_ = current_->phases.back().second;
  passing_ = std::move(*current_);
  current_.reset();
}

void StepTimer::add_host_step(record::StepTimes times, std::vector<Nanoseconds> handed_over) {
  if (measured_) {
    sample_ = times;
  } else {
    divide_as(*sample_, times);
  }
  done_.push_back({times, std::move(handed_over)});
}

/// Phases are the times between their marks. While the device waits for its input, the host waits
/// for the loader or copies: of that time, as much as the host waited is input wait.
void StepTimer::resolve(Marked& marked) {
  record::StepTimes& times = marked.step.times;
  double waited = marked.input_wait_s;
  const auto add = [&](record::Phase phase, double seconds) {
    if (phase == record::Phase::kHostToDevice) {
      const double input = std::min(seconds, waited);
      waited -= input;
      times[record::Phase::kInputWait] += input;
      seconds -= input;
    }
    times[phase] += seconds;
    times.total_s += seconds;
  };
  if (marked.from != marked.begin) {
    const double idle = events_->seconds_between(marked.from, marked.begin);
    const double input = std::min(idle, waited);
    waited -= input;
    add(record::Phase::kInputWait, input);
    add(record::Phase::kOther, idle - input);
  }
  Mark before = marked.begin;
  for (const auto& [phase, mark] : marked.phases) {
    add(phase, events_->seconds_between(before, mark));
    before = mark;
  }
  times.total_s = 0;
  for (const double phase : times.phase_s) times.total_s += phase;
  const auto at = [&](Mark mark) {
    return marked.results_at - nanoseconds(events_->seconds_between(mark, marked.results));
  };
  times.start_ns = at(marked.from);
  times.ready_ns = at(marked.ready);
  sample_ = times;
  done_.push_back(std::move(marked.step));

  // The end of this step is the beginning of the next, which releases it.
  events_->release(marked.from);
  if (marked.from != marked.begin) events_->release(marked.begin);
  for (const auto& [phase, mark] : marked.phases) {
    if (mark != last_end_) events_->release(mark);
  }
}

std::vector<TimedStep> StepTimer::take() {
  return std::exchange(done_, {});
}

void StepTimer::finish() {
  if (passing_) {
    device_.wait();
    resolve(*passing_);
    passing_.reset();
  }
  if (last_end_ != nullptr) events_->release(std::exchange(last_end_, nullptr));
}

}  // namespace lockstep::train
