#include "lockstep/train/trainer/step_log.h"

namespace lockstep::train {
namespace {

/// Few enough to be small, many enough that gathering them takes negligible time.
constexpr std::size_t kStepsAtATime = 1024;

}  // namespace

StepLog::StepLog(comm::Communicator& communicator, EventSink emit, bool keep_steps,
                 const std::string& trace_path, bool queued)
    : communicator_(communicator),
      emit_(std::move(emit)),
      keep_steps_(keep_steps),
      tracing_(!trace_path.empty()) {
  if (tracing_ && communicator.rank() == 0) {
    trace_.emplace(trace_path, communicator.size(), measure::TraceWriter::kMostBytes, queued);
  }
}

void StepLog::add(const record::StepTimes& step, std::span<const Nanoseconds> handed_over) {
  if (!keep_steps_ && !tracing_) return;
  steps_.push_back(step);
  if (!tracing_) return;
  for (std::size_t b = 0; b < handed_over.size(); ++b) {
    marks_.push_back({step.rank, static_cast<std::int32_t>(b), step.step, handed_over[b]});
  }
}

void StepLog::flush_if_due() {
  if (steps_.size() >= kStepsAtATime) flush();
}

void StepLog::flush() {
  if (steps_.empty()) return;
  const std::size_t count = steps_.size();
  const auto size = static_cast<std::size_t>(communicator_.size());
  const auto all = communicator_.gather_all(std::span<const record::StepTimes>(steps_));
  const auto marks = communicator_.gather_all(std::span<const measure::BucketMark>(marks_));
  steps_.clear();
  marks_.clear();
  if (communicator_.rank() != 0) return;

  // Gathered rank by rank; what follows looks at one step on all ranks.
  record::StepBlock block;
  block.steps.reserve(all.size());
  for (std::size_t s = 0; s < count; ++s) {
    for (std::size_t r = 0; r < size; ++r) block.steps.push_back(all[r * count + s]);
    record::split_exposed(std::span(block.steps).last(size));
  }
  if (trace_) trace_->write(block.steps, marks);
  if (keep_steps_) emit_(std::move(block));
}

void StepLog::finish() {
  flush();
  if (trace_) trace_->finish();
}

}  // namespace lockstep::train
