#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/record/event.h"
#include "lockstep/record/step_times.h"

namespace lockstep::watch {

/// From when to when a rank was in a collective, ns of its host's monotonic clock.
struct CollectiveSpan {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// One step as its process saw it. Exposed communication is all under kTransfer.
struct WatchedStep {
  record::StepTimes times;
  bool examples_known = false;
  std::int64_t tokens = 0;  ///< of all its sequences; 0 = unknown, or no sequences
  /// In their order; absent where there were too many, or where their times are not known.
  std::optional<std::vector<CollectiveSpan>> collectives;
};

/// Squared norms of the gradient of one step, of this rank and averaged over ranks.
struct GradientNorms {
  std::int64_t step = 0;
  double own_squares = 0;
  double averaged_squares = 0;
  std::int64_t examples = 0;  ///< of this rank
};

/// A number that the program logged for an epoch: "train_loss", "val_accuracy", ...
struct LoggedFigure {
  int epoch = 0;
  std::string name;
  double value = 0;
};

/// Puts the figure into its epoch; the last of a name counts.
void take_figure(const LoggedFigure& figure, record::EpochResult& epoch);

/// Processor time and memory over one stretch of time.
struct UsageSample {
  int epoch = 0;
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
  double cpu_s = 0;
  std::int64_t resident_bytes = 0;
};

/// Joules that counters have counted since the process began to look at them.
struct EnergySample {
  std::int64_t at_ns = 0;
  std::optional<double> processors_j;  ///< of the whole host
  std::optional<double> gpu_j;         ///< of the GPU that the process trains on
  std::string gpu;                     ///< its UUID
  std::string problem;                 ///< why processors cannot be read
};

/// The DataLoader that a process trains from.
struct LoaderFacts {
  int workers = -1;          ///< its num_workers; -1 = unknown
  std::int64_t batch = 0;    ///< examples per batch; 0 = unknown
  std::int64_t batches = 0;  ///< per epoch; 0 = unknown
};

/// What one process that trains wrote about itself.
struct RankRecord {
  int rank = 0;
  int world = 1;
  int devices = 1;  ///< that the process divides its batch among
  int sharing = 1;  ///< ranks that compute each example together; its steps have their share
  std::string host;
  std::int64_t pid = 0;
  std::string torch;
  std::string framework;  ///< on top of torch or without it: "keras 3.12 (tensorflow)"
  std::string backend;    ///< that carries its gradients; empty = unknown, or of a name of its own
  std::string device;     ///< "cpu" or the name of a GPU
  int threads = 0;
  std::int64_t parameters = 0;
  double flops_per_example = 0;  ///< 0 = unknown
  std::string unit;              ///< of the examples
  LoaderFacts loader;
  std::int64_t wall_minus_monotonic_ns = 0;
  std::vector<WatchedStep> steps;
  std::map<int, double> evaluation_s;  ///< by the epoch it came after
  std::vector<GradientNorms> norms;
  std::vector<UsageSample> usage;
  std::vector<EnergySample> energy;
  std::vector<LoggedFigure> figures;              ///< in the order they were logged
  std::optional<std::int64_t> peak_memory_bytes;  ///< absent when the process was killed
  std::optional<std::int64_t> peak_cuda_bytes;
  std::string stopped;  ///< why watching ended before the script; empty when it did not
};

/// Reads the file of one process. A last line that was cut off is left out, as is whatever a newer
/// watcher adds. Nothing when the file has no start. Throws kData when it cannot be read.
std::optional<RankRecord> read_rank_record(const std::filesystem::path& path);

/// All that the processes of a run left in `folder`.
struct RunRecords {
  std::vector<RankRecord> ranks;     ///< of processes that trained
  std::vector<std::string> stopped;  ///< reasons of processes that stopped watching before a step
  bool framework_imported = false;   ///< PyTorch or Keras, by any process
  bool python_ran = false;           ///< any that looked for the watcher
};

RunRecords read_run_records(const std::filesystem::path& folder);

/// Leaves out all but the first `count` steps of each rank.
void keep_first_steps(RunRecords& records, std::int64_t count);

/// Adds one line of a watcher's file to `rank`, which is empty before the first. Lines that were
/// cut off, and kinds of lines that a newer watcher adds, are left out. Throws nlohmann's errors
/// for a known line without its fields.
void read_record_line(const std::string& text, std::optional<RankRecord>& rank);

}  // namespace lockstep::watch
