#include "lockstep/sampler.h"

#include <algorithm>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"

namespace lockstep {

struct Sampler::State {
  std::size_t examples = 0;
  std::size_t rank = 0;
  std::size_t ranks = 1;
  std::uint64_t seed = 0;
  SamplerOptions options;
  std::uint64_t epoch = 0;
  std::size_t per_rank = 0;
  std::size_t next = 0;
  bool used = false;   ///< the epoch's order was dealt
  bool ended = false;  ///< and all of it was given out
  std::vector<std::uint32_t> order;

  void size_up() {
    per_rank = options.drop_last ? examples / ranks : (examples + ranks - 1) / ranks;
  }

  void deal() {
    if (options.shuffle) {
      order = random_permutation(static_cast<std::uint32_t>(examples), Rng(seed, epoch));
    } else if (order.size() != examples) {
      order.resize(examples);
      for (std::size_t i = 0; i < examples; ++i) order[i] = static_cast<std::uint32_t>(i);
    }
    next = 0;
    used = true;
    ended = false;
  }

  std::uint64_t epoch_to_go_on_with() const { return ended ? epoch + 1 : epoch; }
};

Sampler::Sampler(std::size_t examples, int rank, int ranks, std::uint64_t seed,
                 SamplerOptions options)
    : state_(std::make_shared<State>()) {
  if (ranks < 1 || rank < 0 || rank >= ranks || examples > UINT32_MAX) {
    throw Error(ErrorKind::kUsage,
                "a sampler needs a rank from 0 to ranks - 1 and fewer than 2^32 examples");
  }
  state_->examples = examples;
  state_->rank = static_cast<std::size_t>(rank);
  state_->ranks = static_cast<std::size_t>(ranks);
  state_->seed = seed;
  state_->options = options;
  state_->size_up();
}

void Sampler::set_epoch(std::uint64_t epoch) {
  state_->epoch = epoch;
  state_->used = state_->ended = false;
  state_->order.clear();
}

std::uint64_t Sampler::epoch() const {
  return state_->epoch_to_go_on_with();
}

std::size_t Sampler::size() const {
  return state_->per_rank;
}

void Sampler::reset(Size new_size) {
  if (new_size) {
    state_->examples = *new_size;
    state_->size_up();
  }
  if (state_->used) ++state_->epoch;
  state_->deal();
}

Sampler::Indices Sampler::next(std::size_t batch_size) {
  State& state = *state_;
  if (!state.used) state.deal();
  if (state.next >= state.per_rank || state.examples == 0) {
    state.ended = true;
    return Indices();
  }
  const std::size_t end = std::min(state.per_rank, state.next + batch_size);
  std::vector<std::size_t> batch;
  batch.reserve(end - state.next);
  for (; state.next < end; ++state.next) {
    batch.push_back(state.order[(state.next * state.ranks + state.rank) % state.examples]);
  }
  return batch;
}

void Sampler::save(torch::serialize::OutputArchive& archive) const {
  archive.write("epoch", torch::tensor(static_cast<std::int64_t>(epoch())), true);
}

void Sampler::load(torch::serialize::InputArchive& archive) {
  torch::Tensor epoch;
  archive.read("epoch", epoch, true);
  set_epoch(static_cast<std::uint64_t>(epoch.item<std::int64_t>()));
}

}  // namespace lockstep
