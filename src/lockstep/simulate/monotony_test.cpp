#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "lockstep/base/rng.h"
#include "lockstep/simulate/simulation.h"

namespace lockstep::simulate {
namespace {

constexpr int kScenarios = 12;
constexpr double kRounding = 1 + 1e-9;

double log_uniform(Rng& rng, double low, double high) {
  return low * std::pow(high / low, rng.uniform());
}

/// A step and a star of any proportions: from steps that hide their exchange to steps that are
/// nothing but exchange.
Scenario random_scenario(Rng& rng) {
  Scenario scenario;
  StepShape& shape = scenario.shape;
  shape.forward_s = log_uniform(rng, 1e-4, 1);
  shape.backward_s = shape.forward_s * log_uniform(rng, 0.5, 4);
  shape.other_s = rng.below(2) * log_uniform(rng, 1e-5, 0.1);
  shape.input_s = rng.below(2) * log_uniform(rng, 1e-5, 0.1);
  shape.batch_per_worker = 32;
  shape.hidden = rng.uniform();
  const double gradients = log_uniform(rng, 1e4, 1e9);
  shape.buckets = plan_buckets(gradients, gradients / static_cast<double>(1 + rng.below(8)), 1);
  Cluster& cluster = scenario.cluster;
  cluster.per_host = std::int64_t{1} << rng.below(4);
  cluster.link = {log_uniform(rng, 1e-6, 1e-3), log_uniform(rng, 1e7, 1e11)};
  cluster.inside = {log_uniform(rng, 1e-7, 1e-5), cluster.link.bytes_per_s * 10};
  if (rng.below(2) == 1) scenario.jitter = Jitter::stated(log_uniform(rng, 0.001, 0.3));
  scenario.algorithm = Algorithm::kRing;
  return scenario;
}

double step_s(const Scenario& scenario, std::int64_t workers) {
  return simulate_workers(scenario, workers, {}).parts.step_s;
}

/// Calls expect(scenario, workers) for many scenarios on several hosts.
void for_many(const std::function<void(Scenario, std::int64_t)>& expect) {
  for (std::uint64_t i = 0; i < kScenarios; ++i) {
    Rng rng(i, 0x3010);
    const Scenario scenario = random_scenario(rng);
    SCOPED_TRACE(i);
    expect(scenario, scenario.cluster.per_host << (1 + rng.below(6)));
  }
}

TEST(Monotony, MoreWorkersNeverShortenTheStep) {
  for_many([](const Scenario& scenario, std::int64_t workers) {
    EXPECT_GE(step_s(scenario, 2 * workers) * kRounding, step_s(scenario, workers));
    EXPECT_GE(step_s(scenario, workers) * kRounding, step_s(scenario, 1));
  });
}

TEST(Monotony, EfficiencyIsAtMostOne) {
  for_many([](const Scenario& scenario, std::int64_t workers) {
    EXPECT_LE(simulate_workers(scenario, workers, {}).efficiency, kRounding);
  });
}

TEST(Monotony, SlowerLinksSlowTheStepDown) {
  for_many([](const Scenario& scenario, std::int64_t workers) {
    const double before = step_s(scenario, workers);
    for (const auto member : {&Cluster::link, &Cluster::inside}) {
      Scenario narrow = scenario;
      (narrow.cluster.*member).bytes_per_s /= 2;
      EXPECT_GE(step_s(narrow, workers) * kRounding, before);
      Scenario late = scenario;
      (late.cluster.*member).latency_s *= 2;
      EXPECT_GE(step_s(late, workers) * kRounding, before);
    }
  });
}

// Half the bytes need half the time on the wire; the latency stays.
TEST(Monotony, HalfTheBytesHalveTheTransferButNotTheLatency) {
  for_many([](Scenario scenario, std::int64_t workers) {
    scenario.cluster.per_host = 1;
    Scenario half = scenario;
    for (Bucket& bucket : half.shape.buckets) bucket.bytes /= 2;
    Scenario none = scenario;
    for (Bucket& bucket : none.shape.buckets) bucket.bytes = 1e-9;  // latency only
    const double whole = simulate_workers(scenario, workers, {}).parts.communication_s;
    const double latency = simulate_workers(none, workers, {}).parts.communication_s;
    // Flows are whole bytes.
    EXPECT_NEAR(simulate_workers(half, workers, {}).parts.communication_s, (whole + latency) / 2,
                2e-3 * whole);
  });
}

// Nothing to send, or nothing that it takes: the step is that of its slowest worker.
TEST(Monotony, WithoutExchangeAStepIsItsCompute) {
  for_many([](Scenario scenario, std::int64_t workers) {
    Scenario fast = scenario;
    for (const auto member : {&Cluster::link, &Cluster::inside}) fast.cluster.*member = {0, 1e30};
    scenario.shape.buckets.clear();
    const SimulatedPoint silent = simulate_workers(scenario, workers, {});
    EXPECT_EQ(silent.parts.communication_s, 0);
    EXPECT_EQ(silent.parts.transfer_s, 0);
    EXPECT_NEAR(step_s(fast, workers) / silent.parts.step_s, 1, 1e-9);
    EXPECT_GE(silent.parts.step_s * kRounding, silent.parts.compute_s);
    scenario.jitter = {};
    EXPECT_NEAR(step_s(scenario, workers), scenario.shape.compute_s() + scenario.shape.input_s,
                1e-12);
  });
}

// A step never takes less than its compute, nor than its busiest link takes for its bytes.
TEST(Monotony, AStepIsNotFasterThanComputeOrLink) {
  for_many([](const Scenario& scenario, std::int64_t workers) {
    const SimulatedPoint point = simulate_workers(scenario, workers, {});
    const auto hosts = static_cast<double>(point.hosts);
    // Every host sends and receives at least what the others lack of its sum.
    const double bytes = 2 * (hosts - 1) / hosts * scenario.shape.gradient_bytes();
    EXPECT_GE(point.parts.communication_s * kRounding, bytes / scenario.cluster.link.bytes_per_s);
    EXPECT_GE(point.parts.step_s * kRounding, point.parts.communication_s);
    EXPECT_GE(point.parts.step_s * kRounding, scenario.shape.compute_s());
    EXPECT_LE(point.busiest_share, kRounding);
  });
}

TEST(Monotony, LessOverlapAndMoreJitterSlowTheStepDown) {
  for_many([](const Scenario& scenario, std::int64_t workers) {
    const double before = step_s(scenario, workers);
    Scenario less = scenario;
    less.shape.hidden /= 2;
    EXPECT_GE(step_s(less, workers) * kRounding, before);
    Scenario none = scenario;
    none.shape.overlap = false;
    EXPECT_GE(step_s(none, workers) * kRounding, step_s(less, workers));
    less.shape.hidden = 0;
    EXPECT_NEAR(step_s(none, workers) / step_s(less, workers), 1, 1e-9);
    Scenario uneven = scenario;
    uneven.jitter = Jitter::stated(2 * scenario.jitter.deviation() + 0.01);
    EXPECT_GE(step_s(uneven, workers) * (1 + 1e-4), before);  // 400 points of a distribution
  });
}

TEST(Monotony, SlowWorkersSlowTheStepDown) {
  for_many([](const Scenario& scenario, std::int64_t workers) {
    double before = step_s(scenario, workers);
    for (const double slowdown : {1.1, 1.5, 4.0}) {
      Scenario slow = scenario;
      slow.odd = {{0, 1 / slowdown}};
      const double after = step_s(slow, workers);
      EXPECT_GE(after * kRounding, before);
      before = after;
    }
    Scenario all = scenario;
    all.jitter = {};
    all.odd = {{1, 0.5}};
    Scenario half = all;
    half.odd = {{0.5, 0.5}};
    EXPECT_NEAR(step_s(half, workers) / step_s(all, workers), 1, 1e-9) << "the slowest decide";
  });
}

TEST(Monotony, RarerExchangesRaiseTheRate) {
  for_many([](const Scenario& scenario, std::int64_t workers) {
    const auto rate = [&](int accumulate, std::int64_t local) {
      Scenario one = scenario;
      one.shape.accumulate = accumulate;
      one.shape.local_steps = local;
      return simulate_workers(one, workers, {}).examples_per_s->value;
    };
    EXPECT_LE(rate(2, 1), rate(8, 1) * kRounding);
    EXPECT_LE(rate(1, 1), rate(2, 1) * kRounding);
    EXPECT_LE(rate(1, 4), rate(1, 32) * (1 + 1e-4));
  });
}

TEST(Monotony, TheChosenAlgorithmIsNotSlowerThanThoseItWasChosenFrom) {
  for_many([](Scenario scenario, std::int64_t workers) {
    const auto exchange_s = [&] {
      return simulate_workers(scenario, workers, {}).parts.communication_s;
    };
    scenario.algorithm.reset();
    const double chosen = exchange_s();
    for (const Algorithm one : {Algorithm::kRing, Algorithm::kTree, Algorithm::kHierarchical}) {
      scenario.algorithm = one;
      EXPECT_LE(chosen, exchange_s() * kRounding) << algorithm_name(one);
    }
  });
}

TEST(Monotony, MoreDoubtWidensTheInterval) {
  for_many([](Scenario scenario, std::int64_t workers) {
    predict::Estimate before = simulate_workers(scenario, workers, {}).step_s;
    for (const double doubt : {0.1, 0.3, 0.6}) {
      scenario.link_spread = doubt;
      scenario.compute_spread = doubt / 3;
      const predict::Estimate after = simulate_workers(scenario, workers, {}).step_s;
      EXPECT_NEAR(after.value, before.value, 1e-12);
      EXPECT_GT(after.low, 0);
      EXPECT_LE(after.low, before.low * kRounding);
      EXPECT_GE(after.high * kRounding, before.high);
      before = after;
    }
  });
}

}  // namespace
}  // namespace lockstep::simulate
