#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/import/model/series.h"
#include "lockstep/record/event.h"
#include "lockstep/record/measurement.h"

namespace lockstep::import {

/// How a fact about a run is known; later ones give way to earlier ones.
enum class Provenance {
  kUser,     ///< set with --set
  kLog,      ///< read in the log
  kDerived,  ///< follows from figures in the log: for example global rate / rate per worker
  kName,     ///< read in the file's name
  kUnknown,
};

/// "set by user", "read", "derived", "from name", "unknown".
std::string_view provenance_name(Provenance provenance);

/// A fact that a log may or may not contain.
template <class T>
struct Fact {
  std::optional<T> value;
  Provenance from = Provenance::kUnknown;

  bool known() const { return value.has_value(); }
  explicit operator bool() const { return known(); }
  const T& operator*() const { return *value; }

  /// Takes `fresh` unless something known better is there. Of equals the later one is kept.
  void offer(T fresh, Provenance source = Provenance::kLog) {
    if (known() && source > from) return;
    value = std::move(fresh);
    from = source;
  }
};

/// One rank of a trace: where the time of its steps went, seconds per step. What the trace does not
/// show is record::kUnknown.
struct RankSplit {
  int rank = 0;
  std::int64_t steps = 0;
  double step_s = record::kUnknown;
  double compute_s = record::kUnknown;        ///< device busy with kernels other than collectives
  double communication_s = record::kUnknown;  ///< collectives under way
  double exposed_s = record::kUnknown;        ///< of that, while nothing was computed
  double overlap_s = record::kUnknown;        ///< of that, hidden behind compute
  double idle_s = record::kUnknown;           ///< the device did nothing at all
};

/// One row of a collective benchmark.
struct LinkPoint {
  std::int64_t bytes = 0;
  double time_s = 0;
  double algbw = 0;  ///< bytes per second
  double busbw = 0;  ///< bytes per second
  bool in_place = false;
};

/// A time whose unit the source does not state. Its figure is in ImportedRun::other as `name`.
struct UnitlessTime {
  enum class Of { kEpoch, kStep, kRun };
  Of of = Of::kEpoch;
  double value = 0;
  std::string name;
};

/// One run as far as a log describes it. What is not in the log stays empty.
struct ImportedRun {
  std::string label;   ///< distinguishes the runs of one file; empty for the only one
  std::string format;  ///< name of the reader

  Fact<std::int64_t> workers;
  Fact<std::int64_t> nodes;
  Fact<std::int64_t> batch_per_worker;
  Fact<std::int64_t> global_batch;
  /// A batch size that the log names without saying whether of one worker or of all.
  std::optional<std::int64_t> batch_said;
  bool batch_said_is_global = false;  ///< the format's rule: it is of all workers
  bool batch_said_is_open = false;    ///< nothing tells whose it is: neither batch follows
  /// The model may be split over several workers, so that a share of the global batch is not the
  /// batch of one of them.
  bool may_split_model = false;
  Fact<std::int64_t> accumulate;
  /// With accumulated gradients a script may call each of the small steps a step: examples/s do not
  /// follow from its times and counts of steps.
  bool steps_may_be_small = false;
  Fact<std::int64_t> examples;  ///< of the training set
  Fact<std::int64_t> epochs_planned;
  Fact<std::int64_t> steps_per_epoch;
  Fact<std::int64_t> parameters;
  Fact<std::string> model;
  Fact<std::string> dataset;
  Fact<std::string> device;

  std::vector<record::EpochResult> epochs;  ///< sorted by epoch, from 1
  /// The figures at the end of a run that does not number its epochs; its `epoch` is 0.
  std::optional<record::EpochResult> at_end;
  std::optional<double> epoch_s;  ///< time of an epoch, known without its number
  Series step_time;               ///< seconds
  Series throughput;              ///< examples per second of all workers
  Series throughput_per_worker;   ///< examples per second of one worker
  Series train_loss;              ///< within epochs
  std::map<std::string, Series>
      other;  ///< metrics that Lockstep has no word for, by their own name
  /// What the source derived itself, by the names of the measurements table: reported_speedup,
  /// reported_efficiency. For the audit; never a figure of the run.
  std::map<std::string, double> reported;
  std::optional<double> reported_throughput;  ///< the log's own summary, all workers
  std::optional<double> total_s;              ///< the whole training
  std::vector<UnitlessTime> unitless_times;
  std::optional<double> queue_wait_s;
  std::optional<double> sync_s;  ///< exposed communication per step
  std::optional<std::int64_t> started_wall_ns;
  std::optional<std::int64_t> ended_wall_ns;
  bool out_of_memory = false;
  std::string failure;  ///< what ended it early, in the log's words

  std::vector<RankSplit> ranks;
  std::string collective;  ///< "all_reduce", for link points
  std::vector<LinkPoint> link;
  std::vector<record::Measurement> rows;  ///< of a measurements table, unchanged

  std::map<std::string, std::string> notes;
  std::vector<std::string> missing;   ///< figures that the log cannot give, and why
  std::vector<std::string> warnings;  ///< contradictions and doubts

  /// Whether there is any figure to compute with.
  bool has_figures() const;
  /// Whether the run is a training run: one that needs a worker count to be compared.
  bool is_training() const;
};

/// Turns the times without a unit into figures.
void set_time_unit(double seconds, ImportedRun& run);

/// Completes what follows from what is known: global batch from batch and workers and back, the
/// throughput of all workers from that of one, step time from throughput, ... always as kDerived,
/// and fills `missing`.
void complete(ImportedRun& run);

}  // namespace lockstep::import
