#include "lockstep/report/study_tables.h"

#include <gtest/gtest.h>

#include "lockstep/analyze/measurement_rows.h"
#include "lockstep/analyze/speedup/speedup.h"

namespace lockstep::report {
namespace {

TEST(AllReduceTable, CallsBandwidthsOfMeasuredTransfersUpperBounds) {
  analyze::MeasurementRows rows;
  rows.at_local(2, 32, "step_time", 0.1).at_local(2, 32, "sync_time", 0.03);
  rows.at_local(2, 32, "input_wait_time", 0.01).at_local(2, 32, "compute_time", 0.06);
  rows.at_local(2, 32, "comm_wait_time", 0.025).at_local(2, 32, "comm_transfer_time", 0.005);
  for (record::Measurement& row : rows.rows) row.parameters = 1'000'000;
  const auto configurations = analyze::configurations(rows.rows);
  const auto tables = all_reduce_tables(analyze::speedups(configurations), {});
  ASSERT_EQ(tables.size(), 1u);
  ASSERT_EQ(tables[0].notes.size(), 1u);
  EXPECT_NE(tables[0].notes[0].find("the bandwidths are upper bounds"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::report
