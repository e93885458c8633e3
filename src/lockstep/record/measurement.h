#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "lockstep/record/scaling.h"

namespace lockstep::record {

/// One row of the measurements table: one value of one metric in one configuration. What a source
/// does not give is empty or absent, never guessed. measurement_columns.h maps fields to columns.
struct Measurement {
  std::string model;
  std::string dataset;
  std::string device;
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> workers;
  /// B / (N A); a fraction where several workers share one example (model parallelism).
  std::optional<double> batch_per_worker;
  std::optional<std::int64_t> global_batch;
  /// A batch size of which the source does not state whether it is b or B; neither of those is set.
  std::optional<std::int64_t> stated_batch;
  std::optional<std::int64_t> examples;  ///< per epoch
  std::optional<std::int64_t> epochs;    ///< of the run
  std::string metric;
  double value = 0;
  std::string unit;

  // Settings of the run that code depends on; they distinguish configurations.
  std::string strategy;                            ///< of gradient synchronisation
  std::optional<std::int64_t> threads_per_worker;  ///< of a CPU worker
  std::optional<std::int64_t> parameters;          ///< of the model
  std::optional<std::int64_t> loader_workers;      ///< processes per worker that load data
  std::optional<std::int64_t> flops_per_example;   ///< operations of forward and backward
  std::string example_unit;                        ///< "images", "sequences"; empty = "examples"
  std::optional<Scaling> scaling;                  ///< as the source states it

  // Which run, and which part of it, the value is of.
  std::string run;     ///< id or label
  std::string study;   ///< name
  std::string series;  ///< name that a table gives to rows that belong together
  std::string source;  ///< where a table has the row from: a paper, a site, a person
  std::optional<std::int64_t> repeat;
  std::optional<std::int64_t> epoch;  ///< absent: the value is of the whole run

  // How far the value can be used.
  bool warm_up = false;           ///< of a warm-up epoch: not used in times
  bool contains_warm_up = false;  ///< nothing was measured after the warm-up
  std::string unreliable;         ///< the reason; empty: reliable
  /// What other programs used during the run: "45 % of the CPU time". Its times may be
  /// too long, but are used. Empty if nothing is known.
  std::string disturbed;

  // Of a collective operation.
  std::optional<std::int64_t> bytes;
  std::string collective;

  /// Further settings and remarks, by column name. No code looks one up by its name.
  std::map<std::string, std::string> notes;
  /// Where the row came from, 1-based; 0 when it was not read from a file.
  std::size_t line = 0;
};

}  // namespace lockstep::record
