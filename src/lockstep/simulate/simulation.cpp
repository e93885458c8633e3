#include "lockstep/simulate/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lockstep/base/error.h"

namespace lockstep::simulate {
namespace {

/// As the verdict of a study has it: a step up pays with half of the gain its workers could give.
constexpr double kLeastPart = 0.5;

/// With one worker per host, hierarchical is a ring.
std::vector<Algorithm> chosen_from(const Cluster& cluster) {
  if (cluster.per_host == 1) return {Algorithm::kRing, Algorithm::kTree};
  return {Algorithm::kHierarchical, Algorithm::kRing, Algorithm::kTree};
}

void require_speed(const LinkSpeed& link, const char* option) {
  if (!(link.bytes_per_s > 0) || !(link.latency_s >= 0) || !std::isfinite(link.bytes_per_s)) {
    throw Error(ErrorKind::kUsage, fmt::format("{} has no bandwidth: nothing would arrive", option),
                "give bandwidth and latency: 200Gbit,2us");
  }
}

void check(const Scenario& scenario) {
  require_speed(scenario.cluster.inside, "--inside");
  require_speed(scenario.cluster.link, "--link");
  if (!(scenario.shape.forward_s + scenario.shape.backward_s > 0)) {
    throw Error(ErrorKind::kData, "the step has no compute time",
                "name a run with measured phases, or give --compute 120ms");
  }
}

void check_counts(const Scenario& scenario, const std::vector<std::int64_t>& counts) {
  if (counts.empty() || scenario.cluster.per_host <= counts.back()) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("--per-host {} is more than the {} workers of the largest count",
                          scenario.cluster.per_host, counts.back()),
              fmt::format("give --per-host {} at most, or larger --workers", counts.back()));
}

void stretch_compute(StepShape& shape, double factor) {
  for (double* part : {&shape.forward_s, &shape.backward_s, &shape.other_s}) *part *= factor;
}

/// Workers share the cores of their machine: all compute takes longer, and where no core is free,
/// backward hides nothing of the exchange unless the user knows better.
void share_cores(Scenario& scenario, SimulatedPoint& point) {
  if (!scenario.sharing) return;
  const std::int64_t machines =
      scenario.machines > 0 ? std::min(scenario.machines, point.hosts) : point.hosts;
  const Sharers sharers{point.workers, point.hosts, machines};
  point.on_one_machine = sharers.on_one_machine();
  point.shared = scenario.sharing(sharers);
  stretch_compute(scenario.shape, point.shared.compute.value);
  if (!point.shared.spare_core && !scenario.overlap_stated) scenario.shape.hidden = 0;
}

/// The all-reduces of a step on one cluster.
struct Exchange {
  std::vector<double> seconds;  ///< of each bucket
  bool flows = false;
  std::string busiest_link{};
  double busiest_share = 0;

  double total() const {
    double sum = 0;
    for (const double one : seconds) sum += one;
    return sum;
  }
};

std::vector<double> distinct_sizes(const StepShape& shape) {
  std::vector<double> sizes;
  for (const Bucket& bucket : shape.buckets) sizes.push_back(std::ceil(bucket.bytes));
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

std::string busiest_counted(Algorithm algorithm, const CountedTime& time) {
  const bool outside = time.network_s >= time.inside_s;
  if (algorithm == Algorithm::kCentral) return outside ? "link of rank 0's host" : "link of rank 0";
  return outside ? "each host's link" : "links inside hosts";
}

Exchange exchange_of(const StepShape& shape, const Cluster& cluster, Algorithm algorithm,
                     const NetworkEngine& engine) {
  const std::vector<double> sizes = distinct_sizes(shape);
  std::map<double, double> seconds;
  Exchange exchange;
  if (cluster.nonblocking()) {
    for (const double size : sizes) {
      const CountedTime time =
          count_nonblocking(all_reduce_schedule(algorithm, size, cluster), cluster);
      seconds[size] = time.seconds;
      exchange.busiest_link = busiest_counted(algorithm, time);
      exchange.busiest_share = std::max(time.network_s, time.inside_s) / time.seconds;
    }
  } else if (!sizes.empty()) {
    check_network_size(cluster.topology, cluster.hosts());
    exchange.flows = true;
    const NetworkAnswer answer = engine({cluster, algorithm, sizes, false});
    for (const NetworkTime& time : answer.times) {
      seconds[time.bytes] = time.seconds;
      exchange.busiest_link = time.busiest_link;
      exchange.busiest_share = time.busiest_share;
    }
  }
  for (const Bucket& bucket : shape.buckets) {
    exchange.seconds.push_back(seconds.at(std::ceil(bucket.bytes)));
  }
  return exchange;
}

/// Stretches everything that the link or the computation takes.
StepShape slower(StepShape shape, double factor) {
  for (double* part : {&shape.input_s, &shape.forward_s, &shape.backward_s, &shape.other_s}) {
    *part *= factor;
  }
  return shape;
}

std::vector<double> slower(std::vector<double> times, double factor) {
  for (double& time : times) time *= factor;
  return times;
}

/// The sources of doubt are independent, so their effects add up like the sides of a box. How much
/// of what it could hide overlap does hide is one of them: all of it to nothing.
predict::Estimate step_estimate(const Scenario& scenario, const SimulatedPoint& point,
                                const std::vector<WorkerClass>& classes) {
  const double link = std::exp(predict::kNormal90 * scenario.link_spread);
  const double compute = std::exp(predict::kNormal90 * scenario.compute_spread);
  const auto step = [&](const StepShape& shape, double link_factor) {
    return mean_step(shape, slower(point.all_reduce_s, link_factor), scenario.jitter, classes,
                     scenario.cluster.seed)
        .step_s;
  };
  const StepShape& shape = scenario.shape;
  StepShape exposed = shape;
  StepShape hidden = shape;
  exposed.hidden = 0;
  hidden.hidden = 1;
  const predict::Estimate& contention = point.shared.compute;
  StepShape less = shape;
  StepShape more = shape;
  stretch_compute(less, contention.low / contention.value);
  stretch_compute(more, contention.high / contention.value);
  const double value = point.parts.step_s;
  const double below =
      std::hypot(value - step(shape, 1 / link), value - step(slower(shape, 1 / compute), 1),
                 value - step(hidden, 1));
  const double above = std::hypot(
      step(shape, link) - value, step(slower(shape, compute), 1) - value, step(exposed, 1) - value);
  return {value, value - std::hypot(below, value - step(less, 1)),
          value + std::hypot(above, step(more, 1) - value)};
}

}  // namespace

std::vector<WorkerClass> worker_classes(const Scenario& scenario, std::int64_t workers) {
  const auto all = static_cast<double>(workers);
  double left = all;
  std::vector<WorkerClass> classes;
  for (const OddWorkers& odd : scenario.odd) {
    const double wanted = odd.share > 0 ? std::round(odd.share * all) : 1;
    const double count = std::min(wanted, left);
    if (count > 0) classes.push_back({count, 1 / odd.speed});
    left -= count;
  }
  if (left > 0) classes.push_back({left, 1});
  return classes;
}

SimulatedPoint simulate_workers(const Scenario& asked, std::int64_t workers,
                                const NetworkEngine& engine) {
  check(asked);
  Scenario scenario = asked;
  scenario.cluster.workers = workers;
  SimulatedPoint point;
  point.workers = workers;
  point.hosts = scenario.cluster.hosts();
  share_cores(scenario, point);
  point.shape = scenario.shape;
  const Cluster& cluster = scenario.cluster;
  Exchange best;
  if (workers == 1) {
    best.seconds.assign(scenario.shape.buckets.size(), 0);
  } else if (scenario.algorithm) {
    point.algorithm = *scenario.algorithm;
    best = exchange_of(scenario.shape, cluster, point.algorithm, engine);
  } else {
    for (const Algorithm algorithm : chosen_from(cluster)) {
      Exchange one = exchange_of(scenario.shape, cluster, algorithm, engine);
      if (!best.seconds.empty() && one.total() >= best.total()) continue;
      point.algorithm = algorithm;
      best = std::move(one);
    }
  }
  const std::vector<WorkerClass> classes = worker_classes(scenario, workers);
  point.flows = best.flows;
  point.busiest_link = best.busiest_link;
  point.busiest_share = best.busiest_share;
  point.all_reduce_s = best.seconds;
  point.parts =
      mean_step(scenario.shape, best.seconds, scenario.jitter, classes, scenario.cluster.seed);
  point.step_s = step_estimate(scenario, point, classes);
  const double alone = scenario.shape.compute_s() + scenario.shape.input_s;
  point.efficiency = alone / point.parts.step_s;
  const double examples =
      static_cast<double>(workers) * scenario.shape.batch_per_worker * scenario.shape.accumulate;
  if (examples > 0) {
    point.examples_per_s =
        predict::mapped(point.step_s, [&](double seconds) { return examples / seconds; });
  }
  return point;
}

std::optional<WorkersThatPay> workers_that_pay(const std::vector<SimulatedPoint>& points) {
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const double more =
        static_cast<double>(points[i + 1].workers) / static_cast<double>(points[i].workers);
    const double gain = more * points[i].parts.step_s / points[i + 1].parts.step_s;
    if (gain - 1 < kLeastPart * (more - 1)) {
      return WorkersThatPay{points[i].workers, points[i + 1].workers, gain};
    }
  }
  return std::nullopt;
}

SimulatedScaling simulate_scaling(const Scenario& scenario, const std::vector<std::int64_t>& counts,
                                  const NetworkEngine& engine) {
  check_counts(scenario, counts);
  SimulatedScaling scaling;
  scaling.scenario = scenario;
  for (const std::int64_t workers : counts) {
    scaling.points.push_back(simulate_workers(scenario, workers, engine));
  }
  scaling.pays = workers_that_pay(scaling.points);
  return scaling;
}

}  // namespace lockstep::simulate
