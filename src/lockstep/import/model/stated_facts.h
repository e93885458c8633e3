#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::import {

/// What a line of free text may state about the run that follows or surrounds it.
enum class FactKey {
  kHeading,         ///< "Running the computations for Question: C3": text only
  kStart,           ///< the program started again: "Initialized logger", "Namespace(...)"
  kWorldSize,       ///< "World size: 4"
  kDevices,         ///< "Running with 4 GPUs", "num_gpus=1": devices that train
  kNodes,           ///< "Nodes: 2"
  kDevicesPerNode,  ///< "GPUs/node: 2"
  kTasks,           ///< "SLURM_NTASKS = 2": launchers or workers
  kAccumulate,      ///< "Gradient Accumulation steps = 4"
  kBatch,           ///< "batch size 128", without saying of whom
  kBatchPerWorker,  ///< "Batch size per GPU: 32"
  kGlobalBatch,     ///< "Effective Batch Size: 512"
  kDevice,          ///< "Training on Quadro RTX 8000"
  kModel,           ///< "arch: resnet50"
  kDataset,         ///< "dataset='cifar100'"
  kPrecision,       ///< "dtype='float16'"
  kOptimizer,       ///< "Started training using SGD optimizer."
  kEpochs,          ///< "Num epochs: 20"
  kLoaderWorkers,   ///< "data loading time for 4 workers": never the workers of a run
  kSteps,           ///< "Steps: 64" of an epoch's line, "steps per epoch: 64"
  kSplit,           ///< "Sequence parallel size: 4": workers that share the work on one example
};

struct StatedFact {
  FactKey key = FactKey::kHeading;
  std::int64_t number = 0;
  std::string text;

  bool same_value(const StatedFact& other) const {
    return number == other.number && text == other.text;
  }
};

/// Appends what `line` states, in the order of the keys. DataLoader workers, CPU counts, devices a
/// machine merely has, and batches of validation are not facts of a run.
void find_facts(std::string_view line, std::vector<StatedFact>& facts);

/// "=== SGD ===", "--- bs16_lr5e-05 ---": what may head a run; empty for any other line, and for
/// words about a part of a run or its end.
std::string_view words_between_rules(std::string_view line);

/// "world size 4", "batch per worker 32": for messages and explanations.
std::string fact_words(const StatedFact& fact);

}  // namespace lockstep::import
