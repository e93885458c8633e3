#include "lockstep/analyze/audit/audit.h"

#include <gtest/gtest.h>

#include "lockstep/analyze/measurement_rows.h"

namespace lockstep::analyze {
namespace {

/// T(1) = 40, T(2) = 30, T(4) = 25 at B = 10; T(1) = 60 at B = 20; 100 steps; 10^6 parameters.
MeasurementRows measured() {
  MeasurementRows table;
  table.at_global(1, 10, "epoch_time", 40).at_global(2, 10, "epoch_time", 30);
  table.at_global(4, 10, "epoch_time", 25).at_global(1, 20, "epoch_time", 60);
  table.at_global(2, 20, "epoch_time", 33);
  table.at_global(1, 10, "parameters", 1e6);
  return table;
}

AuditFinding only(MeasurementRows table) {
  const Audit result = audit(table.rows);
  EXPECT_EQ(result.findings.size(), 1u);
  return result.findings.front();
}

AuditFinding reported(const char* metric, double value, std::int64_t workers = 4) {
  return only(measured().at_global(workers, 10, std::string("reported_") + metric, value));
}

TEST(Audit, FiguresThatFollowAreLeftAlone) {
  EXPECT_EQ(reported("speedup", 1.6).outcome, AuditOutcome::kFollows);
  EXPECT_EQ(reported("speedup", 2).outcome, AuditOutcome::kFollows)
      << "1.6 rounded to a whole number";
  EXPECT_EQ(reported("efficiency", 0.4).outcome, AuditOutcome::kFollows);
  EXPECT_EQ(reported("communication_time", 15).outcome, AuditOutcome::kFollows);
  // 1.5 x 4 MB x 100 steps / 15 s = 0.04 GB/s
  EXPECT_EQ(reported("bandwidth", 0.04).outcome, AuditOutcome::kFollows);
  EXPECT_EQ(reported("throughput", 40).outcome, AuditOutcome::kFollows);
}

TEST(Audit, NamesTheSlipBehindASpeedup) {
  EXPECT_NE(reported("speedup", 0.625).slip.find("inverted"), std::string::npos);
  EXPECT_NE(reported("speedup", 6.41).slip.find("scaled form"), std::string::npos);
  EXPECT_NE(reported("speedup", 0.401).slip.find("efficiency"), std::string::npos);
  EXPECT_NE(reported("speedup", 1.375).slip.find("share of time saved"), std::string::npos);
  EXPECT_NE(reported("speedup", 1.2).slip.find("next smaller worker count"), std::string::npos);
  EXPECT_NE(reported("speedup", 2.4).slip.find("another batch"), std::string::npos);
  EXPECT_EQ(reported("speedup", 3.3).slip, "");
}

/// What a README has: images/s on 1, 2 and 4 GPUs, and speedups.
TEST(Audit, SpeedupsFollowFromRatesWithoutBatchAndExamples) {
  const auto of_rates = [](const char* metric, double value) {
    MeasurementRows table;
    table.examples = 0;
    for (const auto& [workers, rate] : {std::pair{1, 812.0}, {2, 1570.0}, {4, 3010.0}}) {
      table.at_local(workers, 0, "throughput", rate);
    }
    table.at_local(4, 0, metric, value);
    for (auto& row : table.rows) {
      row.batch_per_worker.reset();
      row.examples.reset();
    }
    return only(table);
  };
  EXPECT_EQ(of_rates("reported_speedup", 3.71).outcome, AuditOutcome::kFollows);
  EXPECT_EQ(of_rates("reported_efficiency", 0.927).outcome, AuditOutcome::kFollows);
  EXPECT_EQ(of_rates("reported_speedup", 3.9).outcome, AuditOutcome::kDoesNotFollow);
  EXPECT_NE(of_rates("reported_speedup", 0.2698).slip.find("inverted"), std::string::npos);
  EXPECT_EQ(of_rates("reported_communication_time", 3.9).formula,
            "the number of examples is missing");
}

TEST(Audit, NamesTheSlipBehindABandwidth) {
  EXPECT_EQ(reported("bandwidth", 0.01).slip, "the 4 bytes per parameter were left out");
  EXPECT_EQ(reported("bandwidth", 0.32).slip, "bits were mistaken for bytes");
  EXPECT_NE(reported("bandwidth", 0.0372529).slip.find("1024^3"), std::string::npos);
  EXPECT_NE(reported("bandwidth", 0.026667).slip.find("2(N-1)/N was left out"), std::string::npos);
  EXPECT_NE(reported("bandwidth", 0.0004).slip.find("one step"), std::string::npos);
}

TEST(Audit, NamesTheSlipBehindACommunicationTime) {
  EXPECT_NE(reported("communication_time", -15).slip.find("not divided by N"), std::string::npos);
  EXPECT_NE(reported("communication_time", 0.15).slip.find("per step"), std::string::npos);
  EXPECT_NE(reported("communication_time", 25).slip.find("whole time"), std::string::npos);
}

TEST(Audit, TheSlipThatExplainsMostFiguresWins) {
  // 2(N-1)/N is 1 with 2 workers, so only the forgotten bytes explain both.
  auto table = measured();
  table.at_global(2, 10, "reported_bandwidth", 0.01).at_global(4, 10, "reported_bandwidth", 0.01);
  const Audit result = audit(table.rows);
  for (const AuditFinding& finding : result.findings) {
    EXPECT_EQ(finding.slip, "the 4 bytes per parameter were left out");
  }
  EXPECT_EQ(result.summary.size(), 1u);
  EXPECT_NE(result.summary[0].find("4.00x too low"), std::string::npos) << result.summary[0];
}

TEST(Audit, ReportsWhatIsMissing) {
  MeasurementRows table;
  table.at_global(2, 10, "epoch_time", 30).at_global(2, 10, "reported_speedup", 1.5);
  EXPECT_EQ(only(table).outcome, AuditOutcome::kUnchecked);
  EXPECT_EQ(only(table).formula, "the baseline at the same batch is missing");
  table = {};
  table.at_global(2, 10, "reported_speedup", 1.5);
  EXPECT_EQ(only(table).formula, "no time was measured in this configuration");
  EXPECT_EQ(reported("karma", 3).formula, "no formula for karma");
}

TEST(Audit, BandwidthsWithoutASizeMustAgreeOnOne) {
  auto table = measured();
  std::erase_if(table.rows, [](const auto& row) { return row.metric == "parameters"; });
  auto consistent = table;
  // 10^6 parameters: 1 x 4 MB x 100 / 10 s and 1.5 x 4 MB x 100 / 15 s.
  consistent.at_global(2, 10, "reported_bandwidth", 0.04);
  consistent.at_global(4, 10, "reported_bandwidth", 0.04);
  EXPECT_EQ(audit(consistent.rows).count(AuditOutcome::kUnchecked), 2u);
  table.at_global(2, 10, "reported_bandwidth", 0.04).at_global(4, 10, "reported_bandwidth", 0.4);
  EXPECT_EQ(audit(table.rows).count(AuditOutcome::kDoesNotFollow), 2u);
  EXPECT_EQ(audit(consistent.rows, {.parameters = 1'000'000}).count(AuditOutcome::kFollows), 2u);
}

TEST(Audit, ATableWithoutReportedFiguresGivesNothing) {
  EXPECT_TRUE(audit(measured().rows).findings.empty());
}

}  // namespace
}  // namespace lockstep::analyze
