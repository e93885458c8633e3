#include "lockstep/report/study_tables.h"

#include <gtest/gtest.h>

#include "lockstep/analyze/measurement_rows.h"
#include "lockstep/analyze/speedup/speedup.h"
#include "lockstep/report/study_columns.h"

namespace lockstep::report {
namespace {

TEST(AllReduceTable, HasNoBandwidthsWhereBackwardHidesTransfers) {
  analyze::MeasurementRows rows;
  rows.at_local(2, 32, "step_time", 0.1).at_local(2, 32, "sync_time", 0.03);
  rows.at_local(2, 32, "input_wait_time", 0.01).at_local(2, 32, "compute_time", 0.06);
  rows.at_local(2, 32, "comm_wait_time", 0.025).at_local(2, 32, "comm_transfer_time", 0.005);
  for (record::Measurement& row : rows.rows) row.parameters = 1'000'000;
  const auto configurations = analyze::configurations(rows.rows);
  const auto tables = all_reduce_tables(analyze::speedups(configurations), {});
  ASSERT_EQ(tables.size(), 1u);
  ASSERT_EQ(tables[0].notes.size(), 1u);
  EXPECT_NE(tables[0].notes[0].find("no bandwidth follows"), std::string::npos);
  for (const Column& column : tables[0].columns) EXPECT_NE(column.key, "busbw_gb_per_s");
}

TEST(SplitTable, LeavesOutPhasesThatCouldNotBeMeasured) {
  analyze::MeasurementRows rows;
  for (const int workers : {1, 2}) {
    rows.at_local(workers, 32, "step_time", 0.1).at_local(workers, 32, "other_time", 0.1);
    for (const char* metric : {"sync_time", "compute_time", "input_wait_time"}) {
      rows.at_local(workers, 32, metric, 0);
    }
  }
  const auto configurations = analyze::configurations(rows.rows);
  const auto tables = split_tables(analyze::speedups(configurations));
  ASSERT_EQ(tables.size(), 1u);
  for (const Column& column : tables[0].columns) {
    EXPECT_FALSE(column.header == "compute" || column.header == "other") << column.header;
  }
}

TEST(TimeDigits, AreThoseThatMatterBesideLargerTimes) {
  EXPECT_EQ(time_digits(7.6411).text, "7.641");
  EXPECT_EQ(time_digits(0.12483).text, "0.1248");
  EXPECT_EQ(time_digits(0.002151).text, "0.0022");
  EXPECT_EQ(time_digits(0.00004749).text, "< 0.0001");
  EXPECT_EQ(time_digits(0).text, "0");
  EXPECT_EQ(*time_digits(0.00004749).number, 0.00004749);
}

}  // namespace
}  // namespace lockstep::report
