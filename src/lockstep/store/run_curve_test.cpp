#include "lockstep/store/run_curve.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/store/run_writer.h"
#include "lockstep/store/store.h"
#include "lockstep/store/store_fixture.h"

namespace lockstep::store {
namespace {

record::Progress report(std::int64_t step, double loss) {
  return {.epoch = 1 + static_cast<int>((step - 1) / 1000),
          .step = (step - 1) % 1000 + 1,
          .steps_per_epoch = 1000,
          .examples_per_s = 100,
          .loss = loss};
}

TEST(RunCurve, KeepsEveryReportOfAShortRun) {
  RunCurve curve;
  EXPECT_EQ(curve.add(report(500, 2)), RunCurve::Change::kAdded);
  EXPECT_EQ(curve.add(report(1500, 1)), RunCurve::Change::kAdded);
  ASSERT_EQ(curve.points().size(), 2u);
  EXPECT_EQ(curve.points()[0].epochs, 0.5);
  EXPECT_EQ(curve.points()[1].epochs, 1.5);
  EXPECT_EQ(curve.points()[1].loss, 1);
}

/// The loss is the step's number, so the mean of those that a point stands for is known.
TEST(RunCurve, OfALongRunIsMeansOverEqualShares) {
  RunCurve curve;
  const std::int64_t steps = 100'000;
  for (std::int64_t step = 1; step <= steps; ++step) {
    curve.add(report(step, static_cast<double>(step)));
  }
  const auto& points = curve.points();
  EXPECT_LT(points.size(), RunCurve::kMostPoints);
  EXPECT_GE(points.size(), RunCurve::kMostPoints / 2);
  const double share = points[0].epochs * 1000;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double last = share * static_cast<double>(i + 1);
    EXPECT_NEAR(points[i].epochs * 1000, last, 1e-6);
    EXPECT_NEAR(points[i].loss, last - (share - 1) / 2, 1e-6);
    EXPECT_DOUBLE_EQ(points[i].examples_per_s, 100);
  }
}

TEST(RunCurve, OfAnOddNumberOfPointsKeepsTheLastAlone) {
  const std::vector<CurvePoint> half = halved({{1, 4, 10}, {2, 2, 30}, {3, 1, 50}});
  ASSERT_EQ(half.size(), 2u);
  EXPECT_EQ(half[0].epochs, 2);
  EXPECT_EQ(half[0].loss, 3);
  EXPECT_EQ(half[0].examples_per_s, 20);
  EXPECT_EQ(half[1].loss, 1);
  EXPECT_TRUE(halved({}).empty());
}

TEST(RunCurve, LeavesUnknownLossesOutOfTheMean) {
  RunCurve curve;
  for (std::size_t i = 1; i <= RunCurve::kMostPoints; ++i) {
    curve.add(report(static_cast<std::int64_t>(i), i % 2 == 0 ? 7 : record::kUnknown));
  }
  for (const CurvePoint& point : curve.points()) EXPECT_EQ(point.loss, 7);
}

class RunCurveTest : public StoreTest {};

TEST_F(RunCurveTest, IsReadFromTheStoreAsItWasWritten) {
  RunWriter writer(path());
  writer.write(started());
  RunCurve expected;
  for (std::int64_t step = 1; step <= 700; ++step) {
    const record::Progress progress = report(step, 1.0 / static_cast<double>(step));
    writer.write(progress);
    expected.add(progress);
  }
  Store reader(path());
  const std::vector<CurvePoint> read = reader.curve(writer.run_id());
  ASSERT_EQ(read.size(), expected.points().size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].epochs, expected.points()[i].epochs);
    EXPECT_EQ(read[i].loss, expected.points()[i].loss);
    EXPECT_EQ(read[i].examples_per_s, expected.points()[i].examples_per_s);
  }
  EXPECT_TRUE(reader.curve(writer.run_id() + 1).empty());
}

}  // namespace
}  // namespace lockstep::store
