#include "lockstep/report/work_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lockstep/analyze/configuration.h"

namespace lockstep::report {
namespace {

using record::Measurement;

Measurement row(int workers, const std::string& metric, double value) {
  Measurement one;
  one.model = "net";
  one.device = "v100";
  one.workers = workers;
  one.batch_per_worker = 32;
  one.global_batch = 32 * workers;
  one.examples = 1000;
  one.epochs = 2;
  one.metric = metric;
  one.value = value;
  one.example_unit = "images";
  one.flops_per_example = 2'000'000'000;
  return one;
}

std::vector<Measurement> two_counts(bool energy) {
  std::vector<Measurement> rows;
  for (const int workers : {1, 2}) {
    rows.push_back(row(workers, "epoch_time", 10.0 / workers));
    rows.push_back(row(workers, "total_time", 36.0));
    if (!energy) continue;
    rows.push_back(row(workers, "epoch_energy", 3000));
    rows.push_back(row(workers, "energy", 7200));
  }
  return rows;
}

std::string cell(const Table& table, const std::string& key, std::size_t at) {
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].key == key) return table.rows[at][c].text;
  }
  return "no such column";
}

std::vector<Table> tables_of(const std::vector<Measurement>& rows, const WorkTerms& terms) {
  const auto configurations = analyze::configurations(rows);
  const auto groups = analyze::speedups(configurations);
  return work_tables(groups, rows, terms);
}

TEST(WorkTable, DerivesPowerEnergyPerImageCostAndCarbon) {
  const auto tables = tables_of(
      two_counts(true),
      {.peak_flops = {{"v100", 1e12}}, .price_per_hour = {{"v100", 2.0}}, .carbon_g_per_kwh = 500});
  ASSERT_EQ(tables.size(), 1u);
  const Table& table = tables.front();
  EXPECT_EQ(cell(table, "examples_per_s", 0), "100.0");  // 1000 in 10 s
  EXPECT_EQ(cell(table, "gflop_per_s", 0), "200.0");     // x 2 GFLOP
  EXPECT_EQ(cell(table, "mfu_percent", 0), "20.00");     // of 1 TFLOP/s
  EXPECT_EQ(cell(table, "mfu_percent", 1), "20.00");     // 400 of 2 TFLOP/s
  EXPECT_EQ(cell(table, "power_w", 1), "600.0");         // 3000 J in 5 s
  EXPECT_EQ(cell(table, "joules_per_example", 1), "3.000");
  EXPECT_EQ(cell(table, "cost", 1), "0.04000");  // 2 devices x 36 s x 2 per hour
  EXPECT_EQ(cell(table, "co2_g", 0), "1.000");   // 7.2 kJ = 2 Wh
  EXPECT_EQ(table.notes.front(), "2 runs: 14.4 kJ (4 Wh), 2 g CO2, cost 0.06");
  const auto header = std::find_if(table.columns.begin(), table.columns.end(),
                                   [](const Column& one) { return one.header == "images/s"; });
  EXPECT_NE(header, table.columns.end());
}

TEST(WorkTable, SaysThatEnergyIsUnknownInsteadOfZero) {
  const auto tables = tables_of(two_counts(false), {.carbon_g_per_kwh = 500});
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(cell(tables.front(), "energy_kj", 0), "no such column");
  EXPECT_EQ(cell(tables.front(), "co2_g", 0), "no such column");
  EXPECT_NE(tables.front().notes.front().find("energy was not measured"), std::string::npos);
}

TEST(WorkTable, HasNoUtilisationWithoutThePeakOfTheDevice) {
  const auto tables = tables_of(two_counts(false), {});
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(cell(tables.front(), "mfu_percent", 0), "no such column");
  EXPECT_EQ(cell(tables.front(), "gflop_per_s", 0), "200.0");
}

}  // namespace
}  // namespace lockstep::report
