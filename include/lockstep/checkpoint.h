#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lockstep/job.h"
#include "lockstep/sharded_optimizer.h"

namespace lockstep {

/// One file with all that a job needs to go on, the same for any number of ranks: a run that N
/// ranks saved can be resumed by M.
///
///   lockstep::Checkpoint checkpoint(job);
///   checkpoint.add("net", net).add("optimizer", optimizer).add("epoch", epoch);
///   checkpoint.load("run.pt");                     // false where there is no such file
///   for (; epoch < epochs; ++epoch) { ...; checkpoint.save("run.pt"); }
///
/// What is added must outlive this object, and is added in the same order on all ranks. The values
/// of rank 0 are saved, and all ranks get them. Random generators are not saved, as their states
/// belong to a number of ranks: seed them by epoch.
///
/// A program that needs only a part of a file adds only that, the network for example. Entries of
/// the file that were not added are left out.
class Checkpoint {
 public:
  explicit Checkpoint(const Job& job) : job_(job) {}

  Checkpoint& add(const std::string& name, const std::shared_ptr<torch::nn::Module>& module);
  template <class Contained>
  Checkpoint& add(const std::string& name, const torch::nn::ModuleHolder<Contained>& module) {
    return add(name, std::shared_ptr<torch::nn::Module>(module.ptr()));
  }
  /// State and options, such as the learning rate: as in Python, those of the file replace the ones
  /// that the optimizer was constructed with.
  Checkpoint& add(const std::string& name, torch::optim::Optimizer& optimizer);
  Checkpoint& add(const std::string& name, ShardedOptimizer& optimizer);
  /// How many steps the schedule has made. Its learning rate comes with the optimizer.
  Checkpoint& add(const std::string& name, torch::optim::LRScheduler& schedule);
  Checkpoint& add(const std::string& name, Sampler& sampler);
  /// Loaded in place if it has the shape of the one in the file, otherwise replaced.
  Checkpoint& add(const std::string& name, torch::Tensor& tensor);
  /// Whole numbers are exact up to 2^53.
  template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
  Checkpoint& add(const std::string& name, Number& number) {
    return add_number(
        name, [&number] { return static_cast<double>(number); },
        [&number](double value) { number = static_cast<Number>(value); });
  }

  /// Rank 0 writes the file, aside and then renamed, so that `path` is never half written. Returns
  /// when it is on disk. Collective. Throws kData on all ranks when it cannot be written.
  void save(const std::string& path);

  /// Rank 0 reads the file and all ranks get its values. False when there is none. Collective.
  /// Throws kData on all ranks when it cannot be read or has other contents.
  bool load(const std::string& path);

 private:
  struct Entry {
    std::string name;
    std::function<void(torch::serialize::OutputArchive&)> save;  ///< called on rank 0 alone
    std::function<void(torch::serialize::InputArchive&)> load;
    std::function<void()> prepare;  ///< collective, before save; may be empty
    /// Where its tensors are on this rank, whatever rank and device saved them; empty = anywhere.
    std::function<torch::Device()> device{};
  };
  Checkpoint& add_number(const std::string& name, std::function<double()> get,
                         std::function<void(double)> set);

  Job job_;
  std::vector<Entry> entries_;
};

}  // namespace lockstep
