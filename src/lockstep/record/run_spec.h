#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lockstep/record/recipe_options.h"

namespace lockstep::record {

/// The data a run trains on.
struct DataFacts {
  std::string name;  ///< "fashion-mnist", "cifar10", ...
  std::string path;  ///< folder it was read from; "synthetic" when made up
  bool synthetic = false;
  std::int64_t train_examples = 0;
  std::int64_t val_examples = 0;
  std::int64_t skipped = 0;  ///< files that could not be used
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
  std::int64_t batch_per_worker = 128;  ///< b; 0 = the recipe's own
  int accumulate = 1;                   ///< A
  int epochs = 1;
  std::int64_t max_steps = 0;        ///< stop after that many optimizer steps in all; 0 = no limit
  std::string strategy = "overlap";  ///< "overlap", "blocking", "central" or "local"
  std::int64_t average_every = 0;    ///< H of "local", steps; 0 = once an epoch
  std::string wire = "fp32";         ///< of gradients: "fp32", "fp16" or "bf16"
  std::string backend = "auto";      ///< resolved to "shm", "gloo", ... by rank 0
  bool sync_batch_norm = false;      ///< moments over the global batch instead of the worker's own
  bool amp = false;                  ///< forward and backward in 16 bits where that is safe; CUDA

  std::string optimizer;          ///< "" = the recipe's own
  double learning_rate = 0;       ///< before lr_scale; 0 = the recipe's own
  double momentum = -1;           ///< negative = the recipe's own
  double weight_decay = -1;       ///< negative = the recipe's own
  double beta1 = -1;              ///< negative = the recipe's own
  double beta2 = -1;              ///< negative = the recipe's own
  std::string schedule;           ///< "" = the recipe's own
  double warmup_epochs = -1;      ///< negative = the recipe's own
  std::vector<int> lr_steps;      ///< of "step": epochs after which the rate falls
  double lr_gamma = 0.1;          ///< of "step" and "plateau": what the rate is then multiplied by
  int patience = 3;               ///< of "plateau": epochs without a better validation loss
  std::string lr_scale = "none";  ///< "linear", "sqrt" or "none": with global batch / base_batch
  std::int64_t base_batch = 0;    ///< global batch the rate is meant for; 0 = the recipe's own
  double scaled_learning_rate = 0;  ///< after lr_scale, before warm-up and schedule
  std::uint64_t bucket_bytes = 0;   ///< 0 = measured default of the engine
  std::uint64_t seed = 1;
  bool augment = true;
  bool oversubscribed = false;     ///< more threads than cores: timings are unreliable
  std::int64_t parameters = 0;     ///< trainable parameters of the network
  std::string command;             ///< the foreign command, for runs that are not ours
  std::string launcher = "local";  ///< "local", "mpi", "slurm", "ssh-hostfile"
  double queue_wait_s = -1;  ///< from submission to start, apart from all other times; -1 = none
  RecipeOptions options;     ///< what only this recipe asks for

  /// B = N b A.
  std::int64_t global_batch() const { return workers * batch_per_worker * accumulate; }
};

void to_json(nlohmann::json& json, const DataFacts& data);
void from_json(const nlohmann::json& json, DataFacts& data);
void to_json(nlohmann::json& json, const RunSpec& spec);
/// Absent fields keep their defaults, so that older records stay readable.
void from_json(const nlohmann::json& json, RunSpec& spec);

}  // namespace lockstep::record
