#include "lockstep/import/scan/trace_file.h"

#include <fmt/format.h>

namespace lockstep::import {
namespace {

constexpr int kEpochRow = 1'000'000;  // below every rank

}  // namespace

TraceFileWriter::TraceFileWriter(std::ostream& out) : out_(out) {
  out_ << R"({"displayTimeUnit": "ms", "traceEvents": [)";
}

TraceFileWriter::~TraceFileWriter() {
  out_ << "\n]}\n";
}

void TraceFileWriter::span(std::string_view name, std::string_view category, int thread,
                           double start_us, double duration_us) {
  if (named_.insert(thread).second) {
    out_
        << (first_ ? "\n" : ",\n")
        << fmt::format(
               R"({{"ph": "M", "name": "thread_name", "pid": 0, "tid": {}, "args": {{"name": "{}"}}}})",
               thread, thread == kEpochRow ? "epochs" : fmt::format("rank {}", thread));
    first_ = false;
  }
  out_
      << (first_ ? "\n" : ",\n")
      << fmt::format(
             R"({{"ph": "X", "name": "{}", "cat": "{}", "pid": 0, "tid": {}, "ts": {:.3f}, "dur": {:.3f}}})",
             name, category, thread, start_us, duration_us);
  first_ = false;
}

void TraceFileWriter::step(const record::StepTimes& step) {
  double start_us = laid_out_us_;
  if (step.start_ns != 0) {
    if (origin_ns_ == 0) origin_ns_ = step.start_ns;
    start_us = static_cast<double>(step.start_ns - origin_ns_) * 1e-3;
  } else if (step.rank == 0) {
    laid_out_us_ += step.total_s * 1e6;
  }
  span(fmt::format("step {}", step.step), "step", step.rank, start_us, step.total_s * 1e6);
  for (int p = 0; p < record::kPhaseCount; ++p) {
    const double duration_us = step.phase_s[static_cast<std::size_t>(p)] * 1e6;
    if (duration_us <= 0) continue;
    span(record::phase_name(static_cast<record::Phase>(p)), "phase", step.rank, start_us,
         duration_us);
    start_us += duration_us;
  }
}

double TraceFileWriter::epoch(const record::EpochResult& epoch, double start_us) {
  if (epoch.train_s > 0)
    span(fmt::format("epoch {}", epoch.epoch), "epoch", kEpochRow, start_us, epoch.train_s * 1e6);
  if (epoch.val_s > 0) {
    span(fmt::format("validation {}", epoch.epoch), "epoch", kEpochRow,
         start_us + epoch.train_s * 1e6, epoch.val_s * 1e6);
  }
  return start_us + (epoch.train_s + epoch.val_s) * 1e6;
}

}  // namespace lockstep::import
