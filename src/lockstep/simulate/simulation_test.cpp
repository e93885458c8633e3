#include "lockstep/simulate/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lockstep/base/error.h"

namespace lockstep::simulate {
namespace {

NetworkAnswer no_engine(const NetworkRequest&) {
  throw Error(ErrorKind::kEnvironment, "not needed");
}

Scenario resnet_like() {
  Scenario scenario;
  scenario.shape.forward_s = 0.04;
  scenario.shape.backward_s = 0.08;
  scenario.shape.batch_per_worker = 64;
  scenario.shape.buckets = plan_buckets(100e6, 25e6, 1);
  scenario.cluster.link = {10e-6, 1.25e9};
  scenario.algorithm = Algorithm::kRing;
  return scenario;
}

TEST(Simulation, OneWorkerIsTheMeasuredStep) {
  const SimulatedPoint point = simulate_workers(resnet_like(), 1, no_engine);
  EXPECT_NEAR(point.step_s.value, 0.12, 1e-12);
  EXPECT_NEAR(point.efficiency, 1, 1e-12);
  EXPECT_NEAR(point.examples_per_s->value, 64 / 0.12, 1e-9);
}

// Ring: 2 (N-1) (alpha + S/(N beta)) for each of four buckets, the first at a quarter of backward.
TEST(Simulation, StarAndRingTakeTheirClosedForm) {
  for (const std::int64_t n : {2, 8, 1024, 16384}) {
    const SimulatedPoint point = simulate_workers(resnet_like(), n, no_engine);
    const auto count = static_cast<double>(n);
    const double each = 2 * (count - 1) * (10e-6 + std::ceil(25e6 / count) / 1.25e9);
    double end = 0;
    for (int k = 1; k <= 4; ++k) end = std::max(end, 0.04 + 0.02 * k) + each;
    EXPECT_NEAR(point.step_s.value / std::max(end, 0.12), 1, 1e-9) << n;
    EXPECT_FALSE(point.flows);
  }
}

TEST(Simulation, IntervalsCoverLinkAndComputeTogether) {
  Scenario scenario = resnet_like();
  const auto certain = simulate_workers(scenario, 8, no_engine).step_s;
  EXPECT_EQ(certain.low, certain.value);
  EXPECT_GT(certain.high, certain.value) << "overlap may hide less than it could";
  scenario.shape.overlap = false;
  EXPECT_EQ(simulate_workers(scenario, 8, no_engine).step_s.low,
            simulate_workers(scenario, 8, no_engine).step_s.high);
  scenario.shape.overlap = true;
  scenario.link_spread = 0.2;
  const auto link = simulate_workers(scenario, 8, no_engine).step_s;
  EXPECT_LT(link.low, link.value);
  scenario.compute_spread = 0.1;
  const auto both = simulate_workers(scenario, 8, no_engine).step_s;
  EXPECT_LT(both.low, link.low);
  EXPECT_GT(both.high, link.high);
}

TEST(Simulation, ChoosesTheFastestAlgorithm) {
  Scenario scenario = resnet_like();
  scenario.algorithm.reset();
  EXPECT_EQ(simulate_workers(scenario, 2048, no_engine).algorithm, Algorithm::kTree);
  scenario.cluster.per_host = 8;
  EXPECT_EQ(simulate_workers(scenario, 64, no_engine).algorithm, Algorithm::kHierarchical);
}

TEST(Simulation, AsksTheEngineOnlyWhereLinksAreShared) {
  Scenario scenario = resnet_like();
  scenario.cluster.topology = parse_topology("fat-tree");
  scenario.cluster.per_host = 4;
  EXPECT_NO_THROW(simulate_workers(scenario, 4, no_engine));  // one host
  EXPECT_THROW(simulate_workers(scenario, 8, no_engine), Error);
  int asked = 0;
  const auto engine = [&](const NetworkRequest& request) {
    ++asked;
    EXPECT_EQ(request.bytes.size(), 1u);
    return NetworkAnswer{{{request.bytes.front(), 0.1, "switch-0", 0.9}}};
  };
  const SimulatedPoint point = simulate_workers(scenario, 8, engine);
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(point.flows);
  EXPECT_EQ(point.busiest_link, "switch-0");
  EXPECT_NEAR(point.step_s.value, 0.06 + 0.4, 1e-9);
}

TEST(Simulation, NamesTheCountWhereMoreWorkersStopToPay) {
  std::vector<SimulatedPoint> points;
  for (const std::int64_t n : {1, 2, 4, 8, 16, 32, 64}) {
    Scenario scenario = resnet_like();
    scenario.algorithm = Algorithm::kCentral;
    points.push_back(simulate_workers(scenario, n, no_engine));
  }
  const auto found = workers_that_pay(points);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->next, 2 * found->workers);
  EXPECT_LT(found->next_gain, 1.5);
  EXPECT_FALSE(workers_that_pay({points[0]}));
}

TEST(Simulation, OddWorkersAreClassesOfTheirOwn) {
  Scenario scenario = resnet_like();
  scenario.odd = {{0, 0.5}, {0.25, 0.8}};
  const auto classes = worker_classes(scenario, 8);
  ASSERT_EQ(classes.size(), 3u);
  EXPECT_EQ(classes[0].workers, 1);
  EXPECT_EQ(classes[0].slowdown, 2);
  EXPECT_EQ(classes[1].workers, 2);
  EXPECT_EQ(classes[2].workers, 5);
  EXPECT_GT(simulate_workers(scenario, 8, no_engine).step_s.value, 0.24);
}

// Eight workers on four hosts of one machine with two cores, measured alone.
TEST(Simulation, WorkersShareTheCoresOfTheirMachine) {
  Scenario scenario = resnet_like();
  scenario.cluster.per_host = 2;
  scenario.machines = 1;
  scenario.shape.hidden = 0.5;
  scenario.sharing = [](const Sharers& sharers) {
    const auto queue = static_cast<double>(sharers.on_one_machine()) / 2;
    return SharedCores{{queue, queue, 1.25 * queue}, sharers.on_one_machine() < 2, 2};
  };
  const SimulatedPoint point = simulate_workers(scenario, 8, no_engine);
  EXPECT_EQ(point.on_one_machine, 8);
  EXPECT_NEAR(point.parts.compute_s, 4 * 0.12, 1e-9);
  EXPECT_NEAR(point.parts.transfer_s, point.parts.communication_s, 1e-9) << "no core hides it";
  EXPECT_GT(point.step_s.high - point.step_s.value, 0.12);
  Scenario own = scenario;
  own.machines = 0;
  const SimulatedPoint apart = simulate_workers(own, 8, no_engine);
  EXPECT_EQ(apart.on_one_machine, 2);
  EXPECT_NEAR(apart.parts.compute_s, 0.12, 1e-9);
  EXPECT_NEAR(apart.parts.communication_s, point.parts.communication_s, 1e-12);
  scenario.overlap_stated = true;
  EXPECT_LT(simulate_workers(scenario, 8, no_engine).parts.transfer_s, point.parts.transfer_s);
}

TEST(Simulation, RefusesALinkWithoutBandwidth) {
  Scenario scenario = resnet_like();
  scenario.cluster.link.bytes_per_s = 0;
  EXPECT_THROW(simulate_workers(scenario, 2, no_engine), Error);
}

}  // namespace
}  // namespace lockstep::simulate
