#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "lockstep/base/test_folder.h"
#include "network_simulation.h"

namespace lockstep::simulate {
namespace {

// Ring on a star without contention: 2 (N-1) (alpha + S / (N beta)).
TEST(NetworkSimulation, AgreesWithTheClosedFormOfARing) {
  for (const std::int64_t n : {2, 16, 256, 1024}) {
    const NetworkRequest request = request_of(n, 1, "star");
    const auto count = static_cast<double>(n);
    const double closed = 2 * (count - 1) * (20e-6 + (1 << 26) / count / 1.25e9);
    EXPECT_NEAR(simulated_s(request) / closed, 1, 1e-6) << n;
  }
}

TEST(NetworkSimulation, AgreesWithCountedTimesOnAStar) {
  for (const Algorithm algorithm : kAllAlgorithms) {
    for (const auto& [workers, per_host] :
         {std::pair<std::int64_t, std::int64_t>{16, 4}, {12, 4}, {7, 1}, {64, 8}}) {
      NetworkRequest request = request_of(workers, per_host, "star");
      request.algorithm = algorithm;
      EXPECT_NEAR(simulated_s(request) / counted_s(request), 1, 1e-6)
          << algorithm_name(algorithm) << " " << workers << " " << per_host;
    }
  }
}

// Short messages take their latency, long ones their transfer.
TEST(NetworkSimulation, HidesLatencyAsCountedTimesDo) {
  for (const Algorithm algorithm : kAllAlgorithms) {
    for (const double bytes : {1e4, 1e6, 1e8}) {
      NetworkRequest request = request_of(16, 2, "star");
      request.algorithm = algorithm;
      request.cluster.link.hides_latency = true;
      request.bytes = {bytes};
      EXPECT_NEAR(simulated_s(request) / counted_s(request), 1, 1e-6)
          << algorithm_name(algorithm) << " " << bytes;
    }
  }
}

/// Whole rounds, or every message with its own dependencies: the rounds lose nothing that counts.
TEST(NetworkSimulation, RoundsTakeAsLongAsTheirMessages) {
  for (const Algorithm algorithm : kAllAlgorithms) {
    NetworkRequest request = request_of(64, 2, "fat-tree:2");
    request.cluster.topology.hosts_per_switch = 8;
    request.cluster.topology.uplinks = 2;
    request.algorithm = algorithm;
    const double rounds = simulated_s(request);
    request.messages = true;
    EXPECT_NEAR(simulated_s(request) / rounds, 1, 1e-3) << algorithm_name(algorithm);
  }
}

/// 16 hosts behind two switches of eight; with one uplink, exchanges at distance 8 share it.
TEST(NetworkSimulation, FewUplinksSlowDownWhatCrossesSwitches) {
  NetworkRequest request = request_of(16, 1, "fat-tree:2");
  request.cluster.topology.hosts_per_switch = 8;
  request.algorithm = Algorithm::kHalvingDoubling;
  const double full = simulated_s(request);
  request.cluster.topology.uplinks = 1;
  const double one = simulated_s(request);
  // The last exchange, S/16 twice, is eight times as slow.
  EXPECT_NEAR(one - full, 2 * 7 * (1 << 26) / 16.0 / 1.25e9, 1e-4);
  request.algorithm = Algorithm::kRing;
  request.cluster.topology.uplinks = 0;
  const double ring = simulated_s(request);
  request.cluster.topology.uplinks = 1;
  EXPECT_NEAR(simulated_s(request) / ring, 1, 1e-6) << "a ring crosses each switch once";
}

TEST(NetworkSimulation, BackgroundTrafficTakesItsShare) {
  NetworkRequest request = request_of(8, 1, "star");
  const double alone = simulated_s(request);
  request.cluster.background = 0.3;
  const double shared = simulated_s(request);
  EXPECT_NEAR(shared / alone, 1 / 0.7, 0.02);
  EXPECT_EQ(simulated_s(request), shared) << "the same for one seed";
}

TEST(NetworkSimulation, KnowsTorusAndDragonfly) {
  for (const char* topology : {"torus", "torus:8x8x4", "dragonfly"}) {
    const NetworkRequest request = request_of(256, 1, topology);
    EXPECT_GE(simulated_s(request), counted_s(request) * (1 - 1e-6)) << topology;
  }
}

// Hosts in a line: the other two dimensions have one host each.
TEST(NetworkSimulation, KnowsATorusOfAPrimeNumberOfHosts) {
  for (const std::int64_t n : {2, 3, 7}) {
    const NetworkRequest request = request_of(n, 1, "torus");
    EXPECT_GE(simulated_s(request), counted_s(request) * (1 - 1e-6)) << n;
  }
}

class Platforms : public ::testing::Test {
 protected:
  NetworkRequest with_platform(const std::string& zone) {
    const std::string path = folder_.path() + "/platform.xml";
    std::ofstream(path) << "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
                           "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n"
                        << zone << "</platform>\n";
    return request_of(2, 1, path);
  }
  void expect_refused(const NetworkRequest& request, int code, const std::string& words) {
    const launch::CapturedOutput captured = ask(request);
    EXPECT_EQ(captured.status.code, code) << captured.errors;
    EXPECT_NE(captured.errors.find(words), std::string::npos) << captured.errors;
  }

  const TestFolder folder_;
  const std::string two_hosts_ =
      "<host id=\"h-0\" speed=\"1Gf\"/>\n<host id=\"h-1\" speed=\"1Gf\"/>\n";
};

TEST_F(Platforms, AreReadFromTheirFile) {
  const NetworkRequest request = with_platform(
      "<zone id=\"z\" routing=\"Full\">\n" + two_hosts_ +
      "<link id=\"l\" bandwidth=\"1.25GBps\" latency=\"20us\" sharing_policy=\"SPLITDUPLEX\"/>\n"
      "<route src=\"h-0\" dst=\"h-1\" symmetrical=\"NO\"><link_ctn id=\"l\" "
      "direction=\"UP\"/></route>\n"
      "<route src=\"h-1\" dst=\"h-0\" symmetrical=\"NO\"><link_ctn id=\"l\" "
      "direction=\"DOWN\"/></route>\n"
      "</zone>\n");
  EXPECT_NEAR(simulated_s(request) / counted_s(request), 1, 1e-6);
  // The links are those of the file, also where a pipeline fills.
  NetworkRequest tree = request;
  tree.algorithm = Algorithm::kTree;
  const double in_file = counted_s(tree);
  tree.cluster.link = {1, 1};
  EXPECT_NEAR(simulated_s(tree) / in_file, 1, 1e-6);
  NetworkRequest more = request;
  more.cluster.workers = 3;
  expect_refused(more, 2, "has 2 hosts");
}

// Flows on a "fat pipe" do not share it: it is never used up, and other traffic takes nothing of
// it.
TEST_F(Platforms, LinksThatAreNotSharedAreNeverTheBusiest) {
  NetworkRequest request = with_platform(
      "<zone id=\"z\" routing=\"Full\">\n" + two_hosts_ +
      "<link id=\"l\" bandwidth=\"1.25GBps\" latency=\"20us\" sharing_policy=\"FATPIPE\"/>\n"
      "<route src=\"h-0\" dst=\"h-1\"><link_ctn id=\"l\"/></route>\n</zone>\n");
  EXPECT_NEAR(simulated_s(request) / counted_s(request), 1, 1e-6);
  request.cluster.background = 0.5;
  EXPECT_NEAR(simulated_s(request) / counted_s(request), 1, 1e-6);
  const auto answer = nlohmann::json::parse(ask(request).output).get<NetworkAnswer>();
  EXPECT_EQ(answer.times.front().busiest_link, "");
}

TEST_F(Platforms, OfUnreachableHostsAreRefused) {
  expect_refused(with_platform("<zone id=\"z\" routing=\"Full\">\n" + two_hosts_ + "</zone>\n"), 4,
                 "no route");
}

TEST_F(Platforms, WithoutBandwidthOrWithNegativeLatencyAreRefused) {
  const auto with_link = [&](const std::string& speed) {
    return with_platform("<zone id=\"z\" routing=\"Full\">\n" + two_hosts_ + "<link id=\"l\" " +
                         speed +
                         "/>\n<route src=\"h-0\" dst=\"h-1\"><link_ctn id=\"l\"/></route>\n"
                         "</zone>\n");
  };
  expect_refused(with_link("bandwidth=\"0Bps\" latency=\"20us\""), 4, "no bandwidth");
  expect_refused(with_link("bandwidth=\"1GBps\" latency=\"-20us\""), 4, "latency below zero");
}

TEST_F(Platforms, ThatAreNoneAreRefused) {
  expect_refused(with_platform("<zone id=\"z\""), 4, "is not a SimGrid platform");
  const std::string noise = folder_.path() + "/noise.xml";
  std::ofstream(noise) << "\x93\x1b[31m\xff";
  expect_refused(request_of(2, 1, noise), 4, "is not a SimGrid platform");
  EXPECT_EQ(ask(request_of(2, 1, noise)).errors.find_first_of("\x1b\x93\xff"), std::string::npos);
  expect_refused(request_of(2, 1, folder_.path() + "/nowhere.xml"), 4, "there is no platform");
}

/// As a user sees it: lockstep finds lockstep-sim beside itself.
TEST(NetworkSimulation, IsReachedThroughLockstep) {
  launch::ProcessSpec spec;
  spec.program = LOCKSTEP_PROGRAM;
  spec.separate_errors = true;
  spec.arguments = {"simulate",  "--compute", "120ms",      "--gradients", "100MB",
                    "--workers", "4,64",      "--topology", "fat-tree:2",  "--hosts-per-switch",
                    "8",         "--uplinks", "1",          "--algorithm", "halving-doubling",
                    "--json"};
  const auto captured = launch::run_captured(spec, Seconds(120), SystemClock());
  ASSERT_TRUE(captured.status.clean()) << captured.errors;
  const auto points = nlohmann::json::parse(captured.output).at("points");
  EXPECT_EQ(points.at(1).at("network"), "flows");
  EXPECT_EQ(points.at(1).at("busiest_link"), "host 0, receiving");
}

}  // namespace
}  // namespace lockstep::simulate
