#include "lockstep/record/measurement_columns.h"

#include <gtest/gtest.h>

#include <set>

namespace lockstep::record {
namespace {

/// A text that fits a column, as far as its kind goes.
std::string fitting_text(const MeasurementColumn& column) {
  if (column.name == "scaling") return "weak";
  if (column.wants == "yes or no") return "yes";
  return column.wants == "text" ? "some " + std::string(column.name) : "3";
}

TEST(MeasurementColumns, EveryColumnReadsBackWhatItWrote) {
  std::set<std::string_view> names;
  for (const MeasurementColumn& column : measurement_columns()) {
    EXPECT_TRUE(names.insert(column.name).second) << column.name;
    Measurement row;
    set_column(row, std::string(column.name), fitting_text(column));
    EXPECT_EQ(column_text(row, std::string(column.name)), fitting_text(column)) << column.name;
    EXPECT_TRUE(row.notes.empty()) << column.name;
  }
}

TEST(MeasurementColumns, BatchesPerWorkerMayBeFractions) {
  Measurement row;
  set_column(row, "batch_per_worker", "0.25");
  EXPECT_EQ(row.batch_per_worker, 0.25);
  EXPECT_EQ(column_text(row, "batch_per_worker"), "0.25");
  EXPECT_EQ(batch_text(1048576), "1048576");
  EXPECT_FALSE(find_column("batch_per_worker")->set(row, "0"));
  EXPECT_FALSE(find_column("workers")->set(row, "1.5"));
}

TEST(MeasurementColumns, KeepsWhatDoesNotFitAFieldAsANote) {
  Measurement row;
  set_column(row, "epoch", "the last");
  EXPECT_FALSE(row.epoch.has_value());
  EXPECT_EQ(column_text(row, "epoch"), "the last");
  set_column(row, "epoch", "4");
  EXPECT_EQ(row.epoch, 4);
  EXPECT_EQ(column_text(row, "epoch"), "4");
}

TEST(MeasurementColumns, SettingsDistinguishConfigurations) {
  Measurement row;
  for (const auto& [name, text] : {std::pair{"strategy", "overlap"},
                                   {"threads_per_worker", "2"},
                                   {"cpus", "16"},
                                   {"run", "7"},
                                   {"epoch", "first"},
                                   {"seed", "1"},
                                   {"comment", "by hand"}}) {
    set_column(row, name, text);
  }
  const std::map<std::string, std::string> expected{
      {"strategy", "overlap"}, {"threads_per_worker", "2"}, {"cpus", "16"}};
  EXPECT_EQ(settings_of(row), expected);
}

TEST(MeasurementColumns, NamesOfScalingReadBack) {
  for (const Scaling one : {Scaling::kStrong, Scaling::kWeak, Scaling::kMixed}) {
    EXPECT_EQ(scaling_from_name(scaling_name(one)), one);
  }
  EXPECT_FALSE(scaling_from_name("sideways").has_value());
}

}  // namespace
}  // namespace lockstep::record
