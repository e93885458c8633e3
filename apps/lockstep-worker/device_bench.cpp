#include "device_bench.h"

#include <torch/torch.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "blas.h"
#include "probe.h"

namespace lockstep::worker {
namespace {

constexpr std::int64_t kMatrix = 1536;
/// Three arrays of this many floats are far beyond any cache.
constexpr std::int64_t kStream = std::int64_t{16} << 20;

/// Shortest time of one call within the given time; the first calls, which set things up, are not
/// counted.
double best_time(const Clock& clock, double seconds, const std::function<void()>& call) {
  call();
  call();
  const Nanoseconds until = clock.monotonic() + static_cast<Nanoseconds>(seconds * 1e9);
  double best = 0;
  do {
    const Nanoseconds began = clock.monotonic();
    call();
    const double took = static_cast<double>(clock.monotonic() - began) * 1e-9;
    best = best == 0 ? took : std::min(best, took);
  } while (clock.monotonic() < until);
  return best;
}

}  // namespace

std::string bench_device(const Clock& clock, double seconds) {
  const torch::NoGradGuard no_grad;
  const auto a = torch::rand({kMatrix, kMatrix}), b = torch::rand({kMatrix, kMatrix});
  auto product = torch::empty({kMatrix, kMatrix});
  const double multiply = best_time(clock, seconds, [&] { at::mm_out(product, a, b); });
  const auto x = torch::ones({kStream}), y = torch::ones({kStream});
  auto sum = torch::empty({kStream});
  const double stream = best_time(clock, seconds, [&] { at::add_out(sum, x, y, 2.0); });
  const double n = static_cast<double>(kMatrix);
  const nlohmann::json answer{
      {"device", "cpu"},
      {"threads", at::get_num_threads()},
      {"flops", 2 * n * n * n / multiply},
      {"bytes_per_s", 3.0 * static_cast<double>(kStream) * sizeof(float) / stream},
      {"gemm", blas_name()}};
  return answer.dump();
}

}  // namespace lockstep::worker
