#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "lockstep/comm/communicator.h"
#include "lockstep/measure/trace_writer.h"
#include "lockstep/record/event.h"

namespace lockstep::train {

using EventSink = std::function<void(const record::Event&)>;

/// Collects the step times of this rank and, now and then, gathers those of all ranks to rank 0,
/// which splits waiting from transfer, hands them on and writes the trace.
class StepLog {
 public:
  /// `trace_path` may be empty. Only rank 0 calls `emit` and opens the trace. `queued`: buckets are
  /// queued for a device when they are handed over.
  StepLog(comm::Communicator& communicator, EventSink emit, bool keep_steps,
          const std::string& trace_path, bool queued);

  void add(const record::StepTimes& step, std::span<const Nanoseconds> handed_over);

  /// Gathers once enough has come together. Collective: every rank has added as many steps.
  void flush_if_due();
  void flush();

  /// Flushes and closes the trace.
  void finish();

 private:
  comm::Communicator& communicator_;
  EventSink emit_;
  bool keep_steps_;
  bool tracing_;
  std::optional<measure::TraceWriter> trace_;
  std::vector<record::StepTimes> steps_;
  std::vector<measure::BucketMark> marks_;
};

}  // namespace lockstep::train
