#include "lockstep/measure/trace_writer.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "lockstep/base/error.h"

namespace lockstep::measure {

using record::Phase;

TraceWriter::TraceWriter(const std::string& path, int ranks, std::uint64_t size_limit, bool queued)
    : path_(path), out_(path, std::ios::trunc), size_limit_(size_limit), queued_(queued) {
  if (!out_) {
    throw Error(ErrorKind::kData,
                fmt::format("cannot write the trace {}: {}", path, std::strerror(errno)),
                "give --trace a path in a folder that exists and is writable");
  }
  out_ << "[";
  for (int rank = 0; rank < ranks; ++rank) {
    event(fmt::format(
        R"({{"ph":"M","name":"process_name","pid":{0},"args":{{"name":"rank {0}"}}}})", rank));
  }
}

void TraceWriter::event(const std::string& json) {
  out_ << (out_.tellp() > 1 ? ",\n" : "\n") << json;
}

bool TraceWriter::full() {
  if (static_cast<std::uint64_t>(out_.tellp()) < size_limit_) return false;
  if (!said_full_) {
    said_full_ = true;
    event(fmt::format(R"({{"ph":"M","name":"process_labels","pid":0,"args":{{"labels":)"
                      R"("trace ends here: size limit of {} bytes"}}}})",
                      size_limit_));
  }
  return true;
}

void TraceWriter::write(std::span<const record::StepTimes> steps,
                        std::span<const BucketMark> marks) {
  // Times count from the first step seen: microseconds since boot would waste half of each line.
  if (origin_ns_ == 0 && !steps.empty()) {
    origin_ns_ = steps[0].start_ns;
    for (const auto& step : steps) origin_ns_ = std::min(origin_ns_, step.start_ns);
  }
  const auto microseconds = [&](std::int64_t ns) {
    return static_cast<double>(ns - origin_ns_) * 1e-3;
  };
  for (const auto& step : steps) {
    if (full()) return;
    event(fmt::format(R"({{"ph":"X","name":"step {}","pid":{},"tid":0,"ts":{:.1f},"dur":{:.1f},)"
                      R"("args":{{"epoch":{},"examples":{}}}}})",
                      step.step, step.rank, microseconds(step.start_ns), step.total_s * 1e6,
                      step.epoch, step.examples));
    double at = microseconds(step.start_ns);
    for (int p = 0; p < record::kPhaseCount; ++p) {
      const double length = step.phase_s[static_cast<std::size_t>(p)] * 1e6;
      // Shorter than the format's resolution here: nothing to see.
      if (length >= 0.1) {
        event(fmt::format(R"({{"ph":"X","name":"{}","pid":{},"tid":0,"ts":{:.1f},"dur":{:.1f}}})",
                          phase_name(static_cast<Phase>(p)), step.rank, at, length));
      }
      at += length;
    }
  }
  for (const auto& mark : marks) {
    if (full()) return;
    event(fmt::format(R"({{"ph":"i","s":"t","name":"bucket {}{}","pid":{},"tid":0,"ts":{:.1f}}})",
                      mark.bucket, queued_ ? " queued" : "", mark.rank,
                      microseconds(mark.handed_over_ns)));
  }
}

void TraceWriter::finish() {
  out_ << "\n]\n";
  out_.close();
  if (!out_) {
    throw Error(ErrorKind::kData,
                fmt::format("the trace {} could not be written completely", path_),
                "check the free disk space");
  }
}

}  // namespace lockstep::measure
