#include "lockstep/sharded_optimizer.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "lockstep/library/job_state.h"
#include "lockstep/library/optimizer_state.h"
#include "lockstep/train/sync/flat_parameters.h"
#include "lockstep/train/sync/torch_version.h"

namespace lockstep {
namespace {

/// Floats of each rank that are exchanged at a time: little memory, and few messages.
constexpr std::size_t kChunk = 1 << 18;

/// The rank of each parameter: the largest first, each to the rank with the least so far. Depends
/// on sizes alone, so all ranks agree.
std::vector<int> deal(const std::vector<torch::Tensor>& parameters, int ranks) {
  std::vector<std::size_t> order(parameters.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return parameters[a].numel() > parameters[b].numel();
  });
  std::vector<std::int64_t> load(static_cast<std::size_t>(ranks), 0);
  std::vector<int> owner(parameters.size());
  for (const std::size_t i : order) {
    const auto least = std::min_element(load.begin(), load.end());
    owner[i] = static_cast<int>(least - load.begin());
    *least += parameters[i].numel();
  }
  return owner;
}

}  // namespace

class ShardedOptimizer::Shards {
 public:
  Shards(const Job& job, std::vector<torch::Tensor> parameters, Make make)
      : job_(job),
        state_(job.state()),
        communicator_(state_.new_communicator()),
        device_sum_(communicator_),
        make_(make) {
    for (torch::Tensor& parameter : parameters) {
      if (parameter.requires_grad()) parameters_.push_back(parameter);
    }
    owner_ = deal(parameters_, job_.size());
    for (int rank = 0; rank < job_.size(); ++rank) {
      std::int64_t floats = 0;
      for (const torch::Tensor& parameter : share(rank)) floats += parameter.numel();
      longest_ = std::max(longest_, static_cast<std::size_t>(floats));
    }
    local_ = make_(share_or_placeholder(job_.rank()));
  }

  torch::optim::Optimizer& local() { return *local_; }

  void zero_grad() {
    for (torch::Tensor& parameter : parameters_) {
#if LOCKSTEP_TORCH_AT_LEAST(2, 0)
      parameter.mutable_grad().reset();
#else
      if (parameter.grad().defined()) parameter.mutable_grad().zero_();
#endif
    }
  }

  void step() {
    local_->step();
    if (job_.size() > 1) state_.collective([&] { exchange(); });
  }

  /// Each rank's optimizer is saved, sent to all and loaded into one of the same parameters here,
  /// from which the state moves to the plain optimizer of all parameters.
  void gather() {
    if (!whole_) whole_ = make_(parameters_);
    copy_options(*local_, *whole_);
    for (int rank = 0; rank < job_.size(); ++rank) {
      std::string bytes;
      if (rank == job_.rank()) bytes = saved(*local_);
      bytes = job_.broadcast(bytes, rank);
      if (share(rank).empty()) continue;
      const auto optimizer = make_(share(rank));
      restore(*optimizer, bytes);
      for (auto& entry : optimizer->state()) whole_->state()[entry.first] = std::move(entry.second);
    }
  }

  void save(torch::serialize::OutputArchive& archive) const {
    if (!whole_) {
      throw Error(ErrorKind::kUsage, "a sharded optimizer can only be saved after gather()");
    }
    whole_->save(archive);
  }

  void load(torch::serialize::InputArchive& archive) {
    const auto whole = make_(parameters_);
    library::load_with_options(*whole, archive);
    copy_options(*whole, *local_);
    local_->state().clear();
    for (const torch::Tensor& parameter : share(job_.rank())) {
      const auto found = whole->state().find(library::state_key(parameter));
      if (found != whole->state().end()) local_->state()[found->first] = found->second->clone();
    }
  }

 private:
  std::vector<torch::Tensor> share(int rank) const {
    std::vector<torch::Tensor> share;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (owner_[i] == rank) share.push_back(parameters_[i]);
    }
    return share;
  }

  /// LibTorch's optimizers want at least one tensor.
  std::vector<torch::Tensor> share_or_placeholder(int rank) const {
    auto list = share(rank);
    if (list.empty())
      list.push_back(torch::zeros(
          {0}, torch::TensorOptions(train::common_device(parameters_)).requires_grad(true)));
    return list;
  }

  static void copy_options(torch::optim::Optimizer& from, torch::optim::Optimizer& to) {
    for (std::size_t i = 0; i < to.param_groups().size(); ++i) {
      to.param_groups()[i].set_options(from.param_groups()[i].options().clone());
    }
  }

  static std::string saved(const torch::optim::Optimizer& optimizer) {
    torch::serialize::OutputArchive archive;
    optimizer.save(archive);
    std::ostringstream out;
    archive.save_to(out);
    return out.str();
  }

  static void restore(torch::optim::Optimizer& optimizer, const std::string& bytes) {
    std::istringstream in(bytes);
    torch::serialize::InputArchive archive;
    // The rank that saved it has another device.
    archive.load_from(in, train::common_device(optimizer.param_groups()[0].params()));
    optimizer.load(archive);
  }

  /// All ranks get the parameters that each rank updated.
  void exchange() {
    const torch::NoGradGuard no_grad;
    if (std::all_of(parameters_.begin(), parameters_.end(),
                    [&](const auto& parameter) { return device_sum_.takes(parameter); })) {
      // Each value is the sum of that of its rank and zeros.
      for (std::size_t i = 0; i < parameters_.size(); ++i) {
        if (owner_[i] != job_.rank()) parameters_[i].detach().zero_();
      }
      return device_sum_.sum(parameters_);
    }
    const auto ranks = static_cast<std::size_t>(job_.size());
    const std::size_t length = std::min(kChunk, longest_);
    std::vector<float> mine(length), all(length * ranks);
    for (std::size_t begin = 0; begin < longest_; begin += length) {
      copy_part(job_.rank(), begin, mine.data(), length, true);
      communicator_.all_gather(std::as_bytes(std::span(mine)),
                               std::as_writable_bytes(std::span(all)));
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        if (static_cast<int>(rank) == job_.rank()) continue;
        copy_part(static_cast<int>(rank), begin, all.data() + rank * length, length, false);
      }
    }
  }

  /// Copies floats [begin, begin + length) of a rank's share, laid end to end, to or from `buffer`.
  void copy_part(int rank, std::size_t begin, float* buffer, std::size_t length, bool out) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (owner_[i] != rank) continue;
      const auto count = static_cast<std::size_t>(parameters_[i].numel());
      const std::size_t from = std::max(at, begin), to = std::min(at + count, begin + length);
      if (from < to) {
        const auto part = flat(parameters_[i])
                              .narrow(0, static_cast<std::int64_t>(from - at),
                                      static_cast<std::int64_t>(to - from));
        auto other = torch::from_blob(buffer + (from - begin), part.sizes());
        if (out) {
          other.copy_(part);
        } else {
          part.copy_(other);
        }
      }
      at += count;
    }
  }

  /// A view of its memory in the order in which it lies there.
  static torch::Tensor flat(const torch::Tensor& parameter) {
    return parameter.detach().as_strided({parameter.numel()}, {1});
  }

  Job job_;
  library::JobState& state_;
  comm::Communicator& communicator_;
  library::DeviceSum device_sum_;
  Make make_;
  std::vector<torch::Tensor> parameters_;
  std::vector<int> owner_;
  std::size_t longest_ = 0;  ///< floats of the largest share
  std::unique_ptr<torch::optim::Optimizer> local_;
  std::unique_ptr<torch::optim::Optimizer> whole_;  ///< made when it is first saved
};

ShardedOptimizer::ShardedOptimizer(const Job& job, std::vector<torch::Tensor> parameters, Make make)
    : shards_(std::make_unique<Shards>(job, std::move(parameters), std::move(make))) {}
ShardedOptimizer::~ShardedOptimizer() = default;
ShardedOptimizer::ShardedOptimizer(ShardedOptimizer&&) noexcept = default;
ShardedOptimizer& ShardedOptimizer::operator=(ShardedOptimizer&&) noexcept = default;

void ShardedOptimizer::zero_grad() {
  shards_->zero_grad();
}
void ShardedOptimizer::step() {
  shards_->step();
}
torch::optim::Optimizer& ShardedOptimizer::local() {
  return shards_->local();
}
void ShardedOptimizer::gather() {
  shards_->gather();
}
void ShardedOptimizer::save(torch::serialize::OutputArchive& archive) const {
  shards_->save(archive);
}
void ShardedOptimizer::load(torch::serialize::InputArchive& archive) {
  shards_->load(archive);
}

}  // namespace lockstep
