#include "lockstep/simulate/network/topology.h"

#include <gtest/gtest.h>

#include "lockstep/base/error.h"

namespace lockstep::simulate {
namespace {

TEST(Topology, IsReadFromItsName) {
  EXPECT_EQ(parse_topology("star").kind, TopologyKind::kStar);
  EXPECT_EQ(parse_topology("fat-tree").levels, 2);
  EXPECT_EQ(parse_topology("fat-tree:3").levels, 3);
  EXPECT_EQ(parse_topology("torus:4x4x2").dimensions, (std::vector<std::int64_t>{4, 4, 2}));
  EXPECT_EQ(parse_topology("a/b.xml").path, "a/b.xml");
  for (const char* name : {"star", "fat-tree:3", "torus", "torus:4x4x2", "dragonfly", "a/b.xml"}) {
    EXPECT_EQ(topology_name(parse_topology(name)), name);
  }
}

TEST(Topology, RefusesWhatItDoesNotKnow) {
  for (const char* name : {"", "ring", "fat-tree:", "fat-tree:9", "torus:4x", "torus:0x4",
                           "torus:axb", "star:2", "dragonfly:3"}) {
    EXPECT_THROW(parse_topology(name), Error) << name;
  }
}

TEST(Topology, TorusWithoutDimensionsIsNearACube) {
  EXPECT_EQ(torus_dimensions(parse_topology("torus"), 64), (std::vector<std::int64_t>{4, 4, 4}));
  EXPECT_EQ(torus_dimensions(parse_topology("torus"), 7), (std::vector<std::int64_t>{1, 1, 7}));
  EXPECT_THROW(torus_dimensions(parse_topology("torus:2x2"), 5), Error);
  EXPECT_NO_THROW(torus_dimensions(parse_topology("torus:1000000x1000000"), 5));
}

TEST(Topology, ADragonflyHasRoomForItsHosts) {
  const Topology topology = parse_topology("dragonfly");
  for (const std::int64_t hosts : {1, 2, 5, 64, 1000, 4097}) {
    const DragonflySize size = dragonfly_size(topology, hosts);
    EXPECT_GE(size.groups * size.routers * topology.hosts_per_switch, hosts);
    EXPECT_LE(size.groups, size.routers);
  }
}

TEST(Topology, NetworksThatAreTooLargeAreRefused) {
  const auto with_uplinks = [](const char* name, int uplinks) {
    Topology topology = parse_topology(name);
    topology.hosts_per_switch = 1;
    topology.uplinks = uplinks;
    return topology;
  };
  for (const char* name : {"star", "fat-tree:2", "fat-tree:3", "torus", "dragonfly"}) {
    EXPECT_NO_THROW(check_network_size(parse_topology(name), 16'384)) << name;
    EXPECT_THROW(check_network_size(parse_topology(name), 1'000'001), Error) << name;
  }
  EXPECT_THROW(check_network_size(parse_topology("torus:1000000x1000000"), 64), Error);
  EXPECT_THROW(check_network_size(parse_topology("torus:100000x100"), 64), Error);
  EXPECT_THROW(check_network_size(with_uplinks("fat-tree:3", 4096), 64), Error);
  EXPECT_NO_THROW(check_network_size(with_uplinks("fat-tree:2", 2048), 64));
}

}  // namespace
}  // namespace lockstep::simulate
