#include "lockstep/simulate/network/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace lockstep::simulate {
namespace {

constexpr double kBytes = 1 << 26;  // divides by all counts below, so that no flow is rounded up

Cluster cluster_of(std::int64_t workers, std::int64_t per_host) {
  Cluster cluster;
  cluster.workers = workers;
  cluster.per_host = per_host;
  cluster.inside = {3e-6, 50e9};
  cluster.link = {20e-6, 1.25e9};
  return cluster;
}

double time_of(Algorithm algorithm, const Cluster& cluster) {
  return count_nonblocking(all_reduce_schedule(algorithm, kBytes, cluster), cluster).seconds;
}

TEST(Schedule, OneWorkerSendsNothing) {
  for (const Algorithm algorithm : kAllAlgorithms) {
    EXPECT_EQ(time_of(algorithm, cluster_of(1, 1)), 0);
  }
}

// 2 (N-1) (alpha + S / (N beta))
TEST(Schedule, RingTakesItsClosedForm) {
  for (const std::int64_t n : {2, 4, 8, 64, 1024}) {
    const Cluster cluster = cluster_of(n, 1);
    const auto count = static_cast<double>(n);
    EXPECT_NEAR(
        time_of(Algorithm::kRing, cluster) / (2 * (count - 1) * (20e-6 + kBytes / count / 1.25e9)),
        1, 1e-12);
  }
}

// 2 (N-1) max(alpha, S / (N beta))
TEST(Schedule, ALinkThatSendsPiecesHidesTheShorterOfLatencyAndTransfer) {
  for (const std::int64_t n : {2, 64, 4096, 16384}) {
    Cluster cluster = cluster_of(n, 1);
    cluster.link.hides_latency = true;
    const auto count = static_cast<double>(n);
    const double round = std::max(20e-6, kBytes / count / 1.25e9);
    EXPECT_NEAR(time_of(Algorithm::kRing, cluster) / (2 * (count - 1) * round), 1, 1e-12);
  }
}

// With several workers per host the slowest link of the ring sets the pace.
TEST(Schedule, RingOverSeveralHostsIsAsFastAsTheNetwork) {
  EXPECT_NEAR(time_of(Algorithm::kRing, cluster_of(32, 8)), 2 * 31 * (20e-6 + kBytes / 32 / 1.25e9),
              1e-12);
  EXPECT_NEAR(time_of(Algorithm::kRing, cluster_of(8, 8)), 2 * 7 * (3e-6 + kBytes / 8 / 50e9),
              1e-12);
}

// 2 log2 N alpha + 2 (N-1)/N S / beta
TEST(Schedule, HalvingDoublingTakesItsClosedForm) {
  EXPECT_NEAR(time_of(Algorithm::kHalvingDoubling, cluster_of(16, 1)),
              2 * 4 * 20e-6 + 2 * 15.0 / 16 * kBytes / 1.25e9, 1e-12);
  // Two workers per host: the first exchange stays inside, later ones share the link.
  EXPECT_NEAR(time_of(Algorithm::kHalvingDoubling, cluster_of(4, 2)),
              2 * (3e-6 + kBytes / 2 / 50e9) + 2 * (20e-6 + 2 * kBytes / 4 / 1.25e9), 1e-12);
  // Five workers: the fifth hands over all data first and gets the sum last.
  EXPECT_NEAR(time_of(Algorithm::kHalvingDoubling, cluster_of(5, 1)),
              2 * 2 * 20e-6 + 2 * 3.0 / 4 * kBytes / 1.25e9 + 2 * (20e-6 + kBytes / 1.25e9), 1e-12);
}

// 2 (P-1) (alpha_in + S/(P beta_in)) + 2 (M-1) (alpha + S/(M beta))
TEST(Schedule, HierarchicalTakesItsClosedForm) {
  EXPECT_NEAR(time_of(Algorithm::kHierarchical, cluster_of(32, 8)),
              2 * 7 * (3e-6 + kBytes / 8 / 50e9) + 2 * 3 * (20e-6 + kBytes / 4 / 1.25e9), 1e-12);
  EXPECT_NEAR(time_of(Algorithm::kHierarchical, cluster_of(8, 1)),
              time_of(Algorithm::kRing, cluster_of(8, 1)), 1e-12);
}

// 2 (alpha + (N-1) S / beta)
TEST(Schedule, CentralIsAsSlowAsTheLinkOfRankZero) {
  EXPECT_NEAR(time_of(Algorithm::kCentral, cluster_of(9, 1)), 2 * (20e-6 + 8 * kBytes / 1.25e9),
              1e-12);
}

// 2 S / beta, and a latency that grows with the depth of the trees.
TEST(Schedule, TreeUsesTheWholeLinkAtAnyCount) {
  for (const std::int64_t n : {8, 64, 1024}) {
    const double bandwidth = 2 * kBytes / 1.25e9;
    const double hops = 2 * std::log2(static_cast<double>(n)) + 1;
    const double time = time_of(Algorithm::kTree, cluster_of(n, 1));
    EXPECT_GE(time, bandwidth);
    EXPECT_LE(time, bandwidth + hops * (20e-6 + 128 * 1024 / 1.25e9)) << n;
  }
}

TEST(Schedule, TreeReachesEveryHostInBothTrees) {
  for (const std::int64_t hosts : {2, 3, 5, 8, 13, 64}) {
    const Cluster cluster = cluster_of(hosts, 1);
    const auto rounds = all_reduce_schedule(Algorithm::kTree, kBytes, cluster);
    std::vector<int> receives(static_cast<std::size_t>(hosts));
    for (const Flow& flow : rounds.front().flows) {
      EXPECT_NE(flow.from, flow.to);
      ++receives[static_cast<std::size_t>(flow.to)];
    }
    for (const int count : receives) {
      EXPECT_GE(count, 1);
      EXPECT_LE(count, 5);
    }
    EXPECT_EQ(rounds.front().flows.size(), static_cast<std::size_t>(4 * (hosts - 1)));
  }
}

TEST(Schedule, AlgorithmsAreFoundByName) {
  for (const Algorithm algorithm : kAllAlgorithms) {
    EXPECT_EQ(algorithm_from_name(algorithm_name(algorithm)), algorithm);
  }
  EXPECT_ANY_THROW(algorithm_from_name("butterfly"));
}

}  // namespace
}  // namespace lockstep::simulate
