#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "lockstep/import/model/imported_run.h"

namespace lockstep::import {

/// What any training script or launcher may print about a run, for any format of its figures:
/// worker count, batch, device, network, out of memory, a traceback. Looks at the lines that the
/// format's own parser did not take.
class LogFacts {
 public:
  void line(std::string_view text, int rank);
  /// A line the parser took: only its time is of interest.
  void time_of(std::string_view text);

  /// Hands what was found to a run, as Provenance::kLog. `ranks_seen` is the number of ranks in
  /// the launcher's prefixes, 0 where it is unknown. `one_of_several`: the file has other runs, so
  /// a count that it states with several values may be of any of them.
  void offer(ImportedRun& run, int ranks_seen, bool one_of_several) const;
  /// The same without failures, which belong to one run of a file.
  void offer_facts(ImportedRun& run, int ranks_seen, bool one_of_several = false) const;
  bool out_of_memory() const { return out_of_memory_; }

 private:
  void worker_count(std::string_view text);
  void command_line(std::string_view text);
  void batch_size(std::string_view text);
  void set_batch(std::int64_t size, std::optional<std::int64_t>& batch);
  void device(std::string_view text);
  void network(std::string_view text);
  void failure(std::string_view text);

  std::uint64_t lines_ = 0;
  std::optional<std::int64_t> workers_;
  bool workers_differ_ = false;
  bool batches_differ_ = false;
  std::optional<std::int64_t> tasks_;  ///< of srun: workers, or launchers of them
  std::optional<std::int64_t> nodes_;
  std::optional<std::int64_t> per_node_;
  std::optional<std::int64_t> visible_devices_;
  std::int64_t last_gpu_used_ = -1;
  std::optional<std::int64_t> batch_;
  std::optional<std::int64_t> batch_per_worker_;
  std::optional<std::int64_t> global_batch_;
  std::optional<std::int64_t> epochs_;
  std::optional<std::int64_t> examples_;
  bool evaluates_ = false;  ///< below the heading of an evaluation
  std::optional<std::int64_t> parameters_;
  std::string device_;
  std::string model_;
  std::string failure_;
  bool out_of_memory_ = false;
  char first_time_[40] = {};
  char last_time_[40] = {};
};

}  // namespace lockstep::import
