#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lockstep::record {

/// The data a run trains on.
struct DataFacts {
  std::string name;  ///< "fashion-mnist", "cifar10", ...
  std::string path;  ///< folder it was read from; "synthetic" when made up
  bool synthetic = false;
  std::int64_t train_examples = 0;
  std::int64_t val_examples = 0;
};

/// All that determines what a run computes and how. Written by whoever starts the run, completed by
/// rank 0 (data, parameters, threads), stored whole.
struct RunSpec {
  std::string recipe = "fashion";
  DataFacts data;
  std::string device = "cpu";
  int nodes = 1;
  int workers = 1;
  int threads_per_worker = 1;
  std::int64_t batch_per_worker = 128;  ///< b
  int accumulate = 1;                   ///< A
  int epochs = 1;
  std::int64_t max_steps = 0;  ///< stop after that many optimizer steps in all; 0 = no limit
  std::string strategy = "overlap";
  std::string backend = "auto";  ///< resolved to "shm", "tcp", ... by rank 0
  std::string optimizer = "sgd";
  double learning_rate = 0;  ///< 0 = the recipe's own
  double momentum = -1;      ///< negative = the recipe's own
  double weight_decay = -1;  ///< negative = the recipe's own
  std::string schedule;      ///< "" = the recipe's own
  std::uint64_t bucket_bytes = 0;  ///< 0 = measured default of the engine
  std::uint64_t seed = 1;
  bool augment = true;
  bool oversubscribed = false;  ///< more threads than cores: timings are unreliable
  std::int64_t parameters = 0;  ///< trainable parameters of the network
  std::string command;          ///< the foreign command, for runs that are not ours
  std::string launcher = "local";  ///< "local", "mpi", "slurm", "ssh-hostfile"
  double queue_wait_s = -1;        ///< from submission to start, apart from all other times; -1 = none

  /// B = N b A.
  std::int64_t global_batch() const { return workers * batch_per_worker * accumulate; }
};

void to_json(nlohmann::json& json, const DataFacts& data);
void from_json(const nlohmann::json& json, DataFacts& data);
void to_json(nlohmann::json& json, const RunSpec& spec);
/// Absent fields keep their defaults, so that older records stay readable.
void from_json(const nlohmann::json& json, RunSpec& spec);

}  // namespace lockstep::record
