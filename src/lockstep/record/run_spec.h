#pragma once

#include <concepts>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "lockstep/record/choices.h"
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
  std::string unit{};        ///< what an example is: "images", "sequences"; empty = "examples"
  int loader_workers = -1;   ///< processes per worker that load data; -1 = unknown
};

/// A number of workers and threads that was measured before a run, to choose them.
struct WorkerTrial {
  int workers = 1;
  int threads_per_worker = 1;
  double examples_per_s = 0;  ///< of all workers; 0 = it ran out of memory
};

/// All that determines what a run computes and how. Written by the program that starts the run,
/// completed by rank 0 (data, parameters, threads), stored whole.
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
  std::int64_t max_steps = 0;  ///< stop after that many optimizer steps in all; 0 = no limit
  std::optional<Strategy> strategy = Strategy::kOverlap;  ///< none for other programs
  std::int64_t average_every = 0;  ///< H of Strategy::kLocal, steps; 0 = once per epoch
  Wire wire = Wire::kFloat;        ///< of gradients
  std::optional<Backend> backend = Backend::kAuto;  ///< resolved by rank 0; none for other programs
  bool sync_batch_norm = false;       ///< moments over the global batch instead of the worker's own
  bool amp = false;                   ///< forward and backward in 16 bits where that is safe; CUDA
  AmpType amp_type = AmpType::kAuto;  ///< of amp; resolved by the ranks together
  bool deterministic = false;         ///< the same bits in every run on the same devices
  bool tf32 = true;                   ///< matrix products of GPUs with 10 bits of precision
  bool channels_last = true;          ///< layout of convolutions with amp
  bool cudnn_benchmark = true;        ///< cuDNN tries algorithms and keeps the fastest

  std::optional<Optimizer> optimizer;     ///< none = the recipe's own
  std::string program_optimizer;          ///< of another program, by its own name: "SGD"
  double learning_rate = 0;               ///< before lr_scale; 0 = the recipe's own
  double momentum = -1;                   ///< negative = the recipe's own
  double weight_decay = -1;               ///< negative = the recipe's own
  double beta1 = -1;                      ///< negative = the recipe's own
  double beta2 = -1;                      ///< negative = the recipe's own
  std::optional<ScheduleShape> schedule;  ///< none = the recipe's own
  double warmup_epochs = -1;              ///< negative = the recipe's own
  std::vector<int> lr_steps;              ///< of kStep: epochs after which the rate falls
  double lr_gamma = 0.1;  ///< of kStep and kPlateau: what the rate is then multiplied by
  int patience = 3;       ///< of kPlateau: epochs without a better validation loss
  RateScaling lr_scale = RateScaling::kNone;  ///< with global batch / base_batch
  std::int64_t base_batch = 0;      ///< global batch the rate is meant for; 0 = the recipe's own
  double scaled_learning_rate = 0;  ///< after lr_scale, before warm-up and schedule
  std::uint64_t bucket_bytes = 0;   ///< 0 = measured default of the engine
  bool bucket_auto = false;         ///< sizes are tried in the first steps, from bucket_bytes on
  std::uint64_t bucket_chosen = 0;  ///< with bucket_auto, the size that was kept; 0 = none yet
  std::uint64_t seed = 1;
  bool augment = true;
  bool oversubscribed = false;   ///< more threads than cores: timings are unreliable
  std::int64_t parameters = 0;   ///< trainable parameters of the network
  double flops_per_example = 0;  ///< operations of forward and backward; 0 = unknown
  std::string command;           ///< the foreign command, for runs that are not ours
  Launcher launcher = Launcher::kLocal;
  double queue_wait_s = -1;  ///< from submission to start, apart from all other times; -1 = none
  /// By which --workers auto chose workers and threads; empty = they were given.
  std::vector<WorkerTrial> worker_trials;
  RecipeOptions options;  ///< what only this recipe asks for

  /// B = N b A.
  std::int64_t global_batch() const { return workers * batch_per_worker * accumulate; }

  /// Bytes of the buckets of nearly all steps; 0 = unknown.
  std::uint64_t bucket_in_use() const { return bucket_auto ? bucket_chosen : bucket_bytes; }
};

/// Calls field(name, value) for each field: the names of the stored JSON.
template <class Visitor, class Data>
requires std::same_as<std::remove_const_t<Data>, DataFacts>
void visit_fields(Visitor&& field, Data& data) {
  field("name", data.name);
  field("path", data.path);
  field("synthetic", data.synthetic);
  field("train_examples", data.train_examples);
  field("val_examples", data.val_examples);
  field("skipped", data.skipped);
  field("unit", data.unit);
  field("loader_workers", data.loader_workers);
}

template <class Visitor, class Trial>
requires std::same_as<std::remove_const_t<Trial>, WorkerTrial>
void visit_fields(Visitor&& field, Trial& trial) {
  field("workers", trial.workers);
  field("threads_per_worker", trial.threads_per_worker);
  field("examples_per_s", trial.examples_per_s);
}

template <class Visitor, class Spec>
requires std::same_as<std::remove_const_t<Spec>, RunSpec>
void visit_fields(Visitor&& field, Spec& spec) {
  field("recipe", spec.recipe);
  field("data", spec.data);
  field("device", spec.device);
  field("nodes", spec.nodes);
  field("workers", spec.workers);
  field("threads_per_worker", spec.threads_per_worker);
  field("batch_per_worker", spec.batch_per_worker);
  field("accumulate", spec.accumulate);
  field("epochs", spec.epochs);
  field("max_steps", spec.max_steps);
  field("strategy", spec.strategy);
  field("average_every", spec.average_every);
  field("wire", spec.wire);
  field("backend", spec.backend);
  field("sync_batch_norm", spec.sync_batch_norm);
  field("amp", spec.amp);
  field("amp_type", spec.amp_type);
  field("deterministic", spec.deterministic);
  field("tf32", spec.tf32);
  field("channels_last", spec.channels_last);
  field("cudnn_benchmark", spec.cudnn_benchmark);
  field("optimizer", spec.optimizer);
  field("program_optimizer", spec.program_optimizer);
  field("learning_rate", spec.learning_rate);
  field("momentum", spec.momentum);
  field("weight_decay", spec.weight_decay);
  field("beta1", spec.beta1);
  field("beta2", spec.beta2);
  field("schedule", spec.schedule);
  field("warmup_epochs", spec.warmup_epochs);
  field("lr_steps", spec.lr_steps);
  field("lr_gamma", spec.lr_gamma);
  field("patience", spec.patience);
  field("lr_scale", spec.lr_scale);
  field("base_batch", spec.base_batch);
  field("scaled_learning_rate", spec.scaled_learning_rate);
  field("bucket_bytes", spec.bucket_bytes);
  field("bucket_auto", spec.bucket_auto);
  field("bucket_chosen", spec.bucket_chosen);
  field("seed", spec.seed);
  field("augment", spec.augment);
  field("oversubscribed", spec.oversubscribed);
  field("parameters", spec.parameters);
  field("flops_per_example", spec.flops_per_example);
  field("command", spec.command);
  field("launcher", spec.launcher);
  field("queue_wait_s", spec.queue_wait_s);
  field("worker_trials", spec.worker_trials);
  field("options", spec.options);
}

void to_json(nlohmann::json& json, const DataFacts& data);
void from_json(const nlohmann::json& json, DataFacts& data);
void to_json(nlohmann::json& json, const WorkerTrial& trial);
void from_json(const nlohmann::json& json, WorkerTrial& trial);
void to_json(nlohmann::json& json, const RunSpec& spec);
/// Absent fields keep their defaults, so that older records stay readable.
void from_json(const nlohmann::json& json, RunSpec& spec);

}  // namespace lockstep::record
