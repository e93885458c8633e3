#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lockstep {

struct SamplerOptions {
  bool shuffle = true;
  /// Leaves out the examples that ranks cannot share evenly. Off: the first ones are used twice, so
  /// that all ranks have the same number, as Python's DistributedSampler does.
  bool drop_last = false;
};

/// Deals the examples of an epoch to the ranks of a job, for torch::data::make_data_loader. The
/// order is a permutation that depends only on the seed and the epoch. Ranks take turns: example
/// k of the permutation goes to rank k mod N, so N ranks with batch b see the same global batches
/// as one rank with batch N b, whose examples come in the same order.
///
/// Each reset() that follows a pass begins the next epoch, so that a loader shuffles again without
/// further calls; set_epoch() sets it. Copies share one state: the loader has a copy, and
/// set_epoch() of the original reaches it.
class Sampler : public torch::data::samplers::Sampler<> {
  using Base = torch::data::samplers::Sampler<>;

 public:
  // std::optional or LibTorch's own, depending on its version.
  using Size = decltype(std::declval<torch::data::datasets::MNIST&>().size());
  using Indices = decltype(std::declval<Base&>().next(0));

  Sampler(std::size_t examples, int rank, int ranks, std::uint64_t seed,
          SamplerOptions options = {});

  /// Epochs count from 0; the order of the next pass follows from it.
  void set_epoch(std::uint64_t epoch);
  /// Of the pass under way, or of the next one where none is; a checkpoint keeps it. A loader with
  /// workers reads ahead: for it a pass is over a few batches before its last one is used.
  std::uint64_t epoch() const;
  /// Examples of this rank per epoch; the same on all ranks.
  std::size_t size() const;

  void reset(Size new_size = Size()) override;
  Indices next(std::size_t batch_size) override;
  void save(torch::serialize::OutputArchive& archive) const override;
  void load(torch::serialize::InputArchive& archive) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lockstep
