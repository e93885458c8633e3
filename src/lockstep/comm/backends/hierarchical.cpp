#include "lockstep/comm/backends/hierarchical.h"

#include <algorithm>
#include <cstring>
#include <deque>

namespace lockstep::comm {
namespace {

class Hierarchical final : public Communicator {
 public:
  Hierarchical(int rank, HostGroups hosts, std::unique_ptr<Communicator> local,
               std::unique_ptr<Communicator> across)
      : Communicator(rank, static_cast<int>(hosts.host_of.size())),
        hosts_(std::move(hosts)),
        local_(std::move(local)),
        kept_(std::move(across)),
        across_(local_->rank() == 0 ? kept_.get() : nullptr) {}

  record::Backend backend() const override { return record::Backend::kHierarchical; }

  std::span<float> allocate(std::size_t count) override { return local_->allocate(count); }

  /// Only what travels between hosts is rounded.
  void round_sums(std::span<float> values, Wire wire) override {
    if (across_) across_->round_sums(values, wire);
  }

  void start_sum(std::span<float> values) override {
    if (values.empty()) return;
    local_->start_sum(values);
    buckets_.push_back(values);
    progress();
  }

  void progress() override {
    local_->progress();
    if (across_) start_across(local_->sums_done());
  }

  void finish() override {
    local_->finish();
    if (hosts_.hosts() > 1 && !buckets_.empty()) {
      if (across_) {
        start_across(local_->sums_done());
        across_->finish();
      }
      pass_on();
    }
    buckets_.clear();
    across_started_ = 0;
    before_ = local_->sums_done();
  }

  /// Every rank sends its values unsummed: the purpose of this call is the cost of one root.
  void sum_to_root(std::span<float> values, int root) override {
    const std::vector<float> all = gather_all(std::span<const float>(values));
    if (rank() != root) return;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = all[i];
      for (int r = 1; r < size(); ++r)
        values[i] += all[static_cast<std::size_t>(r) * values.size() + i];
    }
  }

  void broadcast(std::span<std::byte> bytes, int root) override {
    const int source = hosts_.host_of[static_cast<std::size_t>(root)];
    const int here = hosts_.host_of[static_cast<std::size_t>(rank())];
    if (here == source) local_->broadcast(bytes, hosts_.local_rank(root));
    if (across_) across_->broadcast(bytes, source);
    if (here != source) local_->broadcast(bytes, 0);
  }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    if (mine.empty()) return;
    std::size_t most = 0;
    for (const auto& host : hosts_.ranks) most = std::max(most, host.size());
    // Hosts send blocks of equal size: one with fewer ranks leaves the end of its block empty.
    const std::size_t block = most * mine.size();
    std::vector<std::byte> own(block);
    local_->all_gather(
        mine, std::span(own).first(static_cast<std::size_t>(local_->size()) * mine.size()));
    std::vector<std::byte> blocks(block * hosts_.ranks.size());
    if (across_) {
      across_->all_gather(own, blocks);
    } else if (hosts_.hosts() == 1) {
      blocks = own;
    }
    if (hosts_.hosts() > 1) local_->broadcast(blocks, 0);
    for (int r = 0; r < size(); ++r) {
      const auto host = static_cast<std::size_t>(hosts_.host_of[static_cast<std::size_t>(r)]);
      const auto place = static_cast<std::size_t>(hosts_.local_rank(r));
      std::memcpy(all.data() + static_cast<std::size_t>(r) * mine.size(),
                  blocks.data() + host * block + place * mine.size(), mine.size());
    }
  }

  void abandon() noexcept override {
    local_->abandon();
    if (across_) across_->abandon();
  }

 private:
  /// Starts the sums between hosts of buckets that are complete on this host.
  void start_across(std::uint64_t done) {
    for (; across_started_ < buckets_.size() && before_ + across_started_ < done;
         ++across_started_) {
      across_->start_sum(buckets_[across_started_]);
    }
  }

  /// The leader's values become those of its neighbours: a sum to which all others add zeros.
  void pass_on() {
    for (const std::span<float> values : buckets_) {
      if (local_->rank() != 0) std::fill(values.begin(), values.end(), 0.0F);
      local_->start_sum(values);
    }
    local_->finish();
  }

  HostGroups hosts_;
  std::unique_ptr<Communicator> local_;
  std::unique_ptr<Communicator> kept_;
  Communicator* across_;                  ///< of leaders only
  std::deque<std::span<float>> buckets_;  ///< started and not finished
  std::size_t across_started_ = 0;        ///< of them
  std::uint64_t before_ = 0;              ///< sums of `local_` before those
};

}  // namespace

std::unique_ptr<Communicator> make_hierarchical(int rank, HostGroups hosts,
                                                std::unique_ptr<Communicator> local,
                                                std::unique_ptr<Communicator> across) {
  return std::make_unique<Hierarchical>(rank, std::move(hosts), std::move(local),
                                        std::move(across));
}

}  // namespace lockstep::comm
