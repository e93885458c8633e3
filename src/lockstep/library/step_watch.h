#pragma once

#include <torch/torch.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/base/system/file_descriptor.h"
#include "lockstep/record/choices.h"
#include "lockstep/record/step_times.h"

namespace lockstep::library {

/// Where the time of this rank's steps goes, for `lockstep run` and `lockstep study`: the record
/// that the watcher of Python scripts writes too (watch/rank_record.h reads it), one file per rank.
/// Without LOCKSTEP_WATCH_DIR it does nothing. Every moment of a step belongs to one phase.
///
/// A GPU computes after the host has queued its work: the host then waits for it at the end of each
/// phase, as it would not without the record.
///
/// A step ends where the next batch is fetched or, where the loader is not wrapped, where the next
/// forward begins; steps without a synchronised backward are joined with the next. Never throws: a
/// record that cannot be written ends recording with one line on stderr. One thread.
class StepWatch {
 public:
  StepWatch(int rank, int size);
  bool on() const { return on_; }

  /// Facts of the module that is wrapped; those of all modules add up.
  void describe(std::int64_t parameters, torch::Device device, record::Backend backend);

  void begin_epoch();
  /// What follows belongs to `epoch`; begin_epoch() next begins that one.
  void set_epoch(int epoch);
  void before_fetch();
  /// `examples` 0 = unknown, -1 = there was no batch left.
  void after_fetch(std::int64_t examples);
  void before_forward(std::int64_t examples);
  void after_forward();
  /// All gradients of a backward pass are there, and summing them is exposed from here on.
  void backward_done();
  void sums_done();
  void before_optimizer();
  void after_optimizer();
  /// Squared norms of the mean gradient per rank, averaged over ranks, and of the global mean.
  void norms(double own_squares, double averaged_squares, std::int64_t examples);
  void log(const std::string& name, double value);

  void close();

 private:
  /// In the order of the record: input, host to device, forward, backward, exposed, optimizer,
  /// other.
  enum Watched { kInput, kToDevice, kForward, kBackward, kExposed, kOptimizer, kOther, kCount };
  struct Step {
    std::int64_t index = 0;
    int epoch = 1;
    std::int64_t examples = 0;
    Nanoseconds start = 0;
    Nanoseconds end = 0;
    std::array<Nanoseconds, kCount> phases{};
    std::vector<std::pair<Nanoseconds, Nanoseconds>> collectives;
  };

  void mark(Watched phase);
  void mark_between();
  void boundary();
  void open();
  void flush();
  void sample_usage(Nanoseconds now);
  void write(const std::string& line);

  int rank_;
  int size_;
  bool on_ = false;
  std::string folder_;
  FileDescriptor file_;
  SystemClock clock_;
  std::int64_t parameters_ = 0;
  torch::Device device_{torch::kCPU};
  record::Backend backend_ = record::Backend::kAuto;
  bool wrapped_loader_ = false;
  bool in_pass_ = false;  ///< of a wrapped loader
  int epochs_ = 0;
  Step step_;
  bool synchronised_ = false;  ///< the step has a synchronised backward
  bool begun_ = false;
  bool after_forward_ = false;  ///< no synchronised backward has come since
  Nanoseconds last_ = 0;
  Nanoseconds exposed_from_ = 0;
  std::vector<Step> steps_;
  std::string noise_;
  Nanoseconds flushed_ = 0;
  Nanoseconds sampled_ = 0;
  double cpu_s_ = 0;
};

}  // namespace lockstep::library
