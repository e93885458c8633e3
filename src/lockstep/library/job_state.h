#pragma once

#include <torch/torch.h>

#include <atomic>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/comm/communicator.h"
#include "lockstep/comm/rendezvous/placement.h"
#include "lockstep/comm/rendezvous/session.h"
#include "lockstep/job.h"
#include "lockstep/library/device_sum.h"
#include "lockstep/library/step_watch.h"

namespace lockstep::library {

/// This rank's end of a job: how it meets the others, and what it records. Job is its public face.
class JobState {
 public:
  /// Blocks until all ranks have joined.
  JobState(comm::Placement place, const JoinOptions& options);
  /// Leaves the job, or reports a failure where an exception is on its way.
  ~JobState();
  JobState(const JobState&) = delete;
  JobState& operator=(const JobState&) = delete;

  const comm::Placement& place() const { return place_; }
  bool on_gpu() const { return on_gpu_; }
  /// As Job::device().
  torch::Device device() const;
  const Clock& clock() const { return *clock_; }
  StepWatch& watch() { return watch_; }

  /// For what Job itself does.
  comm::Communicator& communicator() { return *communicator_; }
  DeviceSum& device_sum() { return *device_sum_; }

  /// A communicator of its own for each module: two that reduce during one backward may be handed
  /// their buckets in different orders on different ranks. Collective; lives as long as the job.
  comm::Communicator& new_communicator();

  /// Runs what waits for other ranks. A failure is reported to them and thrown with its cause.
  template <class Work>
  auto collective(const Work& work) {
    try {
      return work();
    } catch (const Error& error) {
      fail_with_cause(error);
    }
  }

  /// Reports the error to all ranks and throws it.
  [[noreturn]] void fail(const Error& error);
  /// The report alone, for a process that ends. Never throws.
  void report(const Error& error) noexcept;
  /// Rank 0: waits up to 5 s until the other ranks have received the report.
  void close() noexcept;

 private:
  std::unique_ptr<comm::Communicator> connect();
  [[noreturn]] void fail_with_cause(const Error& error);
  void leave() noexcept;
  /// One that left the job in good order, which nobody does while others wait for it.
  std::optional<std::string> rank_that_left();

  comm::Placement place_;
  record::Backend backend_;
  bool on_gpu_ = false;
  int exceptions_;
  std::atomic<bool> failed_{false};
  std::unique_ptr<comm::Session> session_;
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<comm::Communicator> communicator_;
  std::optional<DeviceSum> device_sum_;  ///< over communicator_
  std::list<std::unique_ptr<comm::Communicator>> others_;
  StepWatch watch_;
};

}  // namespace lockstep::library
