#include "lockstep/analyze/communication.h"

#include <gtest/gtest.h>

#include "lockstep/analyze/measurement_rows.h"

namespace lockstep::analyze {
namespace {

TEST(Communication, FormulasOfTheRing) {
  // 2 (N-1)/N S: each worker sends S in all with 2 workers, 1.5 S with 4.
  EXPECT_DOUBLE_EQ(ring_bytes(100, 2), 100);
  EXPECT_DOUBLE_EQ(ring_bytes(100, 4), 150);
  EXPECT_DOUBLE_EQ(ring_bytes(100, 1), 0);
  EXPECT_DOUBLE_EQ(algorithm_bandwidth(100, 2), 50);
  EXPECT_DOUBLE_EQ(bus_bandwidth(100, 2, 4), 75);
  EXPECT_DOUBLE_EQ(derived_communication(38, 67, 2), 48);
}

TEST(Communication, IsDerivedWhereOnlyTotalsAreKnown) {
  MeasurementRows table;
  table.at_global(1, 10, "epoch_time", 38).at_global(2, 10, "epoch_time", 67);
  const auto groups = speedups(configurations(table.rows));
  const auto splits = time_splits(groups.at(0));
  ASSERT_EQ(splits.size(), 1u);
  EXPECT_EQ(splits[0].origin, Origin::kDerived);
  EXPECT_DOUBLE_EQ(splits[0].communication_s, 48);
  EXPECT_DOUBLE_EQ(splits[0].compute_s, 19);
}

TEST(Communication, IsTakenFromPhasesWhereTheyWereMeasured) {
  MeasurementRows table;
  table.at_local(2, 10, "epoch_time", 2).at_local(2, 10, "step_time", 0.040);
  table.at_local(2, 10, "sync_time", 0.010).at_local(2, 10, "comm_wait_time", 0.004);
  table.at_local(2, 10, "comm_transfer_time", 0.006).at_local(2, 10, "input_wait_time", 0.002);
  table.at_local(1, 1, "parameters", 1'000'000);
  for (record::Measurement& row : table.rows) row.strategy = "blocking";
  const auto splits = time_splits(speedups(configurations(table.rows)).at(0));
  ASSERT_EQ(splits.size(), 1u);
  EXPECT_EQ(splits[0].origin, Origin::kMeasured);
  EXPECT_DOUBLE_EQ(splits[0].compute_s, 0.028);
  const auto reduced = all_reduces(splits, {.any = 2e9});
  ASSERT_EQ(reduced.size(), 1u);
  // 4 MB in the 6 ms of the transfer, not in the 10 ms that include the wait.
  EXPECT_NEAR(*reduced[0].busbw, 4e6 / 0.006, 1);
  EXPECT_NEAR(*reduced[0].utilisation, 4e6 / 0.006 / 2e9, 1e-9);
}

TEST(Communication, NoBandwidthWhereBackwardHidesAPartOfTheTime) {
  MeasurementRows table;
  table.at_local(2, 10, "step_time", 0.040).at_local(2, 10, "sync_time", 1e-6);
  table.at_local(2, 10, "parameters", 1'000'000);
  for (const char* strategy : {"overlap", ""}) {
    for (record::Measurement& row : table.rows) row.strategy = strategy;
    const auto splits = time_splits(speedups(configurations(table.rows)).at(0));
    const auto reduced = all_reduces(splits, {.any = 2e9});
    ASSERT_EQ(reduced.size(), 1u);
    EXPECT_DOUBLE_EQ(reduced[0].seconds, 1e-6);
    EXPECT_FALSE(reduced[0].algbw || reduced[0].busbw || reduced[0].utilisation);
  }
}

TEST(Communication, OneWorkerHasNone) {
  MeasurementRows table;
  table.at_local(1, 10, "step_time", 0.040).at_local(1, 10, "sync_time", 5e-8);
  table.at_local(1, 10, "comm_transfer_time", 5e-8).at_local(1, 10, "comm_wait_time", 0);
  table.at_local(1, 10, "compute_time", 0.039).at_local(1, 10, "other_time", 0.001);
  const auto splits = time_splits(speedups(configurations(table.rows)).at(0));
  ASSERT_EQ(splits.size(), 1u);
  EXPECT_EQ(splits[0].communication_s, 0);
  EXPECT_EQ(splits[0].transfer_s, 0);
  EXPECT_DOUBLE_EQ(*splits[0].other_s, 0.001 + 5e-8);
}

TEST(Communication, NoBandwidthWhereNothingIsLeftForCommunication) {
  MeasurementRows table;
  table.at_global(1, 10, "epoch_time", 20).at_global(2, 10, "epoch_time", 9);
  table.at_global(1, 10, "parameters", 1000);
  const auto splits = time_splits(speedups(configurations(table.rows)).at(0));
  EXPECT_DOUBLE_EQ(splits.at(0).communication_s, -1);
  EXPECT_TRUE(all_reduces(splits).empty());
}

TEST(Communication, NoBandwidthWithoutTheCountOfParameters) {
  MeasurementRows table;
  table.at_global(1, 10, "epoch_time", 38).at_global(2, 10, "epoch_time", 67);
  EXPECT_TRUE(all_reduces(time_splits(speedups(configurations(table.rows)).at(0))).empty());
}

TEST(Communication, AnIncompleteLastBatchIsAStep) {
  MeasurementRows table;
  table.examples = 50'000;
  table.at_global(1, 32, "epoch_time", 1);
  EXPECT_EQ(configurations(table.rows).at(0).steps_per_epoch(), 1563);
}

}  // namespace
}  // namespace lockstep::analyze
