#include "all_reduce_bench.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/base/statistics.h"
#include "lockstep/base/units.h"

namespace lockstep::worker {
namespace {

constexpr int kWarmUp = 2;

std::vector<std::uint64_t> parse_sizes(const std::string& text) {
  std::vector<std::uint64_t> sizes;
  std::stringstream list(text);
  for (std::string item; std::getline(list, item, ',');) {
    sizes.push_back(std::max<std::uint64_t>(4, parse_bytes(item, "--sizes").count / 4 * 4));
  }
  if (sizes.empty()) throw Error(ErrorKind::kUsage, "--sizes is empty", "for example 1MB,10MB");
  return sizes;
}

/// Seconds on this rank for one sum, whose result is checked.
double timed_sum(comm::Communicator& comm, std::span<float> values, const Clock& clock) {
  std::fill(values.begin(), values.end(), static_cast<float>(comm.rank() + 1));
  comm.barrier();
  const Nanoseconds began = clock.monotonic();
  comm.start_sum(values);
  comm.finish();
  const double seconds = static_cast<double>(clock.monotonic() - began) * 1e-9;
  const auto expected = static_cast<float>(comm.size()) * static_cast<float>(comm.size() + 1) / 2;
  for (const float value : values) {
    if (value != expected) throw Error(ErrorKind::kInternal, "a sum over the ranks is wrong");
  }
  return seconds;
}

struct Point {
  double traffic = 0;  ///< bytes that a rank sends
  double seconds = 0;
};

/// alpha and B of t = alpha + traffic/B by least squares of relative errors, so that small sums
/// count as much as large ones.
void print_fit(const std::vector<Point>& points) {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (const Point& p : points) {
    const double weight = 1 / (p.seconds * p.seconds);
    w += weight;
    wx += weight * p.traffic;
    wy += weight * p.seconds;
    wxx += weight * p.traffic * p.traffic;
    wxy += weight * p.traffic * p.seconds;
  }
  const double slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  const double alpha = (wy - slope * wx) / w;
  if (points.size() < 2 || !(slope > 0)) return;
  fmt::print("# fit t = alpha + 2(N-1)/N S/B: alpha {:.1f} us, B {:.4g} GB/s\n", alpha * 1e6,
             1e-9 / slope);
}

}  // namespace

void add_bench_options(CLI::App& command, record::TrainRequest& request, AllReduceBench& bench) {
  command.add_option("--sizes", bench.sizes, "Sizes to sum")->capture_default_str();
  command.add_option("--repeat", bench.repeat, "Sums of each size")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command
      .add_option("--backend", request.spec.backend, "auto, shm, tcp, hierarchical, gloo or mpi")
      ->capture_default_str();
  command.add_option("--interface", request.interface, "Network to use: a name or an address");
  command.add_option("--timeout", request.timeout_s, "Longest wait for another rank, seconds")
      ->capture_default_str();
}

void run_all_reduce_bench(const AllReduceBench& bench, comm::Communicator& comm, int nodes) {
  const SystemClock clock;
  const double share = 2.0 * (comm.size() - 1) / comm.size();
  const bool talks = comm.rank() == 0;
  if (talks) {
    fmt::print("# all-reduce over {} ranks on {} host(s), back end {}, {} repeats\n", comm.size(),
               nodes, comm.backend(), bench.repeat);
    fmt::print("#{:>11} {:>12} {:>12} {:>12} {:>12} {:>12}\n", "size_B", "time_us", "min_us",
               "max_us", "algbw_GB/s", "busbw_GB/s");
  }
  std::vector<Point> points;
  for (const std::uint64_t size : parse_sizes(bench.sizes)) {
    const auto values = comm.allocate(size / sizeof(float));
    std::vector<double> times;
    for (int i = 0; i < kWarmUp + bench.repeat; ++i) {
      const auto all = comm.gather_all(timed_sum(comm, values, clock));
      if (i >= kWarmUp) times.push_back(*std::max_element(all.begin(), all.end()));
    }
    const double middle = median(times);
    points.push_back({share * static_cast<double>(size), middle});
    const double algbw = static_cast<double>(size) / middle * 1e-9;
    if (talks) {
      fmt::print("{:12} {:12.1f} {:12.1f} {:12.1f} {:12.5g} {:12.5g}\n", size, middle * 1e6,
                 quantile(times, 0) * 1e6, quantile(times, 1) * 1e6, algbw, algbw * share);
      std::fflush(stdout);
    }
  }
  if (talks) print_fit(points);
}

}  // namespace lockstep::worker
