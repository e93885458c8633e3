#include "lockstep/predict/scaling/host_boundary.h"

#include <gtest/gtest.h>

namespace lockstep::predict {
namespace {

TEST(HostBoundary, ReadsHostSizesFromTheWaysPeopleWriteThem) {
  EXPECT_EQ(devices_per_host("8xA100-SXM4-40GB"), 8);
  EXPECT_EQ(devices_per_host("DGX A100 (8x A100 80GB)"), 8);
  EXPECT_EQ(devices_per_host("V100, 4 GPUs per node"), 4);
  EXPECT_EQ(devices_per_host("T4 (AWS g4dn.12xlarge)"), 4);
  EXPECT_EQ(devices_per_host("AWS p3.16xlarge"), 8);
  EXPECT_EQ(devices_per_host("Summit (V100)"), 6);
  EXPECT_EQ(devices_per_host("Quadro_RTX_8000 x16 PCIe"), 0);
  EXPECT_EQ(devices_per_host("NVIDIA V100-SXM2-16GB (8/node, IB 100Gb)"), 8);
  EXPECT_EQ(devices_per_host("T4 (cloud, 4 GPU/node, 50 Gb/s)"), 4);
  EXPECT_EQ(devices_per_host("DGX-2 (16x V100 32GB)"), 16);
  EXPECT_EQ(devices_per_host("DGX-2H"), 16);
  EXPECT_EQ(devices_per_host("p100"), 4);
  EXPECT_EQ(devices_per_host("rt4000"), 0);
  EXPECT_EQ(devices_per_host(""), 0);
  EXPECT_EQ(devices_per_host(std::string(100000, '9')), 0);
}

TEST(HostBoundary, NodesWinOverTheHostSize) {
  const ScalingSeries s = make_series("s", {{4, 1, 1}, {8, 2, 2}}, 16);
  const Boundary boundary = locate_boundary(s, {16, 0, 4});
  EXPECT_EQ(boundary.crosses_next, 0);
  EXPECT_EQ(boundary.beyond, 1);
  EXPECT_EQ(boundary.just_crossed, 1);
}

TEST(HostBoundary, IsHalfSureWhenTheHostSizeIsAGuess) {
  const ScalingSeries s = make_series("s", {{4, 1, 0}, {8, 2, 0}});
  EXPECT_EQ(locate_boundary(s, {16, 0, 0}).crosses_next, 0.5);
  EXPECT_EQ(locate_boundary(make_series("s", {{4, 1, 0}}, 4), {8, 0, 0}).crosses_next, 1);
}

}  // namespace
}  // namespace lockstep::predict
