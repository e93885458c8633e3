#include "lockstep/store/calibrations.h"

#include <gtest/gtest.h>

#include "lockstep/base/error.h"
#include "lockstep/store/connection.h"
#include "lockstep/store/store_fixture.h"

namespace lockstep::store {
namespace {

using CalibrationsTest = StoreTest;

record::LinkCalibration link(record::Backend backend, int workers, std::int64_t when) {
  record::LinkCalibration link;
  link.machine.host = "here";
  link.backend = backend;
  link.workers = workers;
  link.alpha_s = 5e-6;
  link.bytes_per_s = 4e9;
  link.measured_wall_ns = when;
  link.points = {{1024, 1e-5, 20}, {1 << 20, 3e-4, 20}};
  return link;
}

TEST_F(CalibrationsTest, AreNoneWhereThereIsNoStore) {
  EXPECT_TRUE(calibrations(path()).links.empty());
}

TEST_F(CalibrationsTest, ComeBackWholeNewestFirst) {
  add_calibration(path(), link(record::Backend::kSharedMemory, 2, 20));
  add_calibration(path(), link(record::Backend::kSharedMemory, 2, 30));
  add_calibration(path(), link(record::Backend::kGloo, 4, 10));
  record::DeviceCalibration device;
  device.machine.host = "here";
  device.flops = 5e10;
  device.threads = 2;
  add_calibration(path(), device);
  const Calibrations found = calibrations(path());
  ASSERT_EQ(found.links.size(), 3u);
  ASSERT_NE(found.link("here", record::Backend::kSharedMemory, 2), nullptr);
  EXPECT_EQ(found.link("here", record::Backend::kSharedMemory, 2)->measured_wall_ns, 30);
  EXPECT_EQ(found.link("", std::nullopt, 4)->backend, record::Backend::kGloo);
  EXPECT_EQ(found.link("here", record::Backend::kSharedMemory, 4), nullptr);
  EXPECT_EQ(found.link("here", record::Backend::kSharedMemory, 2, 2), nullptr);
  EXPECT_EQ(found.link("there", record::Backend::kSharedMemory, 2), nullptr);
  const record::LinkCalibration& newest = found.links.front();
  EXPECT_DOUBLE_EQ(newest.alpha_s, 5e-6);
  ASSERT_EQ(newest.points.size(), 2u);
  EXPECT_EQ(newest.points[1].bytes, 1 << 20);
  ASSERT_NE(found.device("here", 2), nullptr);
  EXPECT_DOUBLE_EQ(found.device("", 0)->flops, 5e10);
  EXPECT_EQ(found.device("here", 1), nullptr);
}

TEST_F(CalibrationsTest, NamesTheOneThatIsDamaged) {
  add_calibration(path(), link(record::Backend::kSharedMemory, 2, 20));
  open_for_changing(path()).execute("UPDATE calibrations SET calibration = '{'");
  EXPECT_THROW(calibrations(path()), Error);
}

}  // namespace
}  // namespace lockstep::store
