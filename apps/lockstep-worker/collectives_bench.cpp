#include "collectives_bench.h"

#include <torch/torch.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "lockstep/base/statistics.h"

namespace lockstep::worker {
namespace {

constexpr int kWarmUp = 2;
constexpr int kFewestRounds = 5;
constexpr int kMostRounds = 200;
/// Floats count exactly up to here.
constexpr double kExact = 1 << 24;
constexpr std::size_t kPattern = 7;

/// All-reduces timed in one go: for short ones the clock and the skew after a barrier would count
/// for more than the link.
int sums_in_a_round(std::size_t count, int ranks) {
  int sums = count <= 64 * 1024 ? 4 : 1;
  double largest = static_cast<double>(kPattern) * ranks * (ranks + 1) / 2.0;
  for (int i = 1; i < sums; ++i) largest *= ranks;
  return largest < kExact ? sums : 1;
}

/// Differs by rank and by place, so that neither a missing rank nor mixed elements go unnoticed.
void fill(std::span<float> values, int rank) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i % kPattern + 1) * static_cast<std::size_t>(rank + 1));
  }
}

std::int64_t wrong_elements(std::span<const float> values, int ranks, int sums) {
  double factor = ranks * (ranks + 1) / 2.0;
  for (int i = 1; i < sums; ++i) factor *= ranks;
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    wrong += values[i] != static_cast<float>(factor * static_cast<double>(i % kPattern + 1));
  }
  return wrong;
}

class Bench {
 public:
  Bench(comm::Communicator& comm, const Clock& clock, std::size_t most_floats, int gpu)
      : comm_(comm),
        clock_(clock),
        memory_(comm.allocate(most_floats)),
        on_device_(comm.residence() == comm::Residence::kDevice),
        device_(on_device_ ? torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(gpu))
                           : torch::Device(torch::kCPU)),
        host_(on_device_ ? most_floats : 0) {}

  nlohmann::json measure(std::size_t count, double seconds) {
    const std::span<float> values = memory_.first(count);
    const int sums = sums_in_a_round(count, comm_.size());
    std::vector<double> times;
    std::int64_t wrong = 0;
    int rounds = kFewestRounds;
    for (int round = 0; round < kWarmUp + rounds; ++round) {
      const double slowest = timed_round(values, sums);
      wrong += wrong_elements(on_host(values), comm_.size(), sums);
      if (round < kWarmUp) continue;
      times.push_back(slowest / sums);
      // The slowest rank's time is the same on every rank, and so is what follows from it.
      if (times.size() == kFewestRounds) {
        const double fits = seconds / std::max(1e-7, sums * median(times));
        rounds = static_cast<int>(std::clamp<double>(fits, kFewestRounds, kMostRounds));
      }
    }
    std::int64_t all_wrong = 0;
    for (const std::int64_t one : comm_.gather_all(wrong)) all_wrong += one;
    return {{"bytes", count * sizeof(float)},
            {"seconds", median(times)},
            {"deviation_s", summarize(times).deviation},
            {"rounds", times.size()},
            {"wrong", all_wrong}};
  }

 private:
  torch::Tensor tensor_of(std::span<float> values, torch::Device device) const {
    return torch::from_blob(values.data(), {static_cast<std::int64_t>(values.size())},
                            torch::TensorOptions().device(device));
  }

  void put_in(std::span<float> values) {
    if (!on_device_) return fill(values, comm_.rank());
    const std::span<float> host = std::span(host_).first(values.size());
    fill(host, comm_.rank());
    tensor_of(values, device_).copy_(tensor_of(host, torch::kCPU));
  }

  std::span<const float> on_host(std::span<float> values) {
    if (!on_device_) return values;
    const std::span<float> host = std::span(host_).first(values.size());
    tensor_of(host, torch::kCPU).copy_(tensor_of(values, device_));
    return host;
  }

  double timed_round(std::span<float> values, int sums) {
    put_in(values);
    comm_.barrier();
    const Nanoseconds began = clock_.monotonic();
    for (int i = 0; i < sums; ++i) {
      comm_.start_sum(values);
      comm_.finish();
    }
    const double mine = static_cast<double>(clock_.monotonic() - began) * 1e-9;
    const std::vector<double> all = comm_.gather_all(mine);
    return *std::max_element(all.begin(), all.end());
  }

  comm::Communicator& comm_;
  const Clock& clock_;
  std::span<float> memory_;
  bool on_device_;
  torch::Device device_;
  std::vector<float> host_;  ///< with on_device_
};

}  // namespace

void bench_collectives(const CollectivesOptions& options, comm::Communicator& comm,
                       const Clock& clock, const std::function<void(const std::string&)>& print) {
  const std::size_t most = std::max<std::size_t>(options.most_bytes / sizeof(float), 1);
  Bench bench(comm, clock, most, options.gpu);
  for (std::size_t count = std::max<std::size_t>(options.least_bytes / sizeof(float), 1);
       count <= most; count *= 4) {
    nlohmann::json result = bench.measure(count, options.seconds_per_size);
    result["nodes"] = options.nodes;
    result["host"] = options.host;
    if (comm.rank() == 0) print(result.dump());
  }
}

}  // namespace lockstep::worker
