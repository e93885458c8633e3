#include <gtest/gtest.h>

#include <algorithm>

#include "lockstep/import/import_fixture.h"
#include "lockstep/import/run_record.h"

namespace lockstep::import {
namespace {

double summary_row(const ImportedRun& run, const std::string& metric) {
  for (const record::Measurement& row : measurements(run)) {
    if (row.metric == metric) return row.value;
  }
  return -1;
}

TEST(TrainerSummary, GivesTheLossWhereNoLineHasOne) {
  for (const std::string quote : {"", "'"}) {
    const auto number = [&](const std::string& text) { return quote + text + quote; };
    const std::string summary =
        "{'train_runtime': " + number("4.75") + ", 'train_samples_per_second': " + number("202.5") +
        ", 'train_steps_per_second': " + number("25.25") + ", 'train_loss': " + number("1.383") +
        ", 'epoch': " + number("2") + "}\n";
    const ImportedRun run = import_text(summary).runs.at(0);
    EXPECT_DOUBLE_EQ(run.at_end->train_loss, 1.383);
    EXPECT_DOUBLE_EQ(*run.total_s, 4.75);
    EXPECT_DOUBLE_EQ(summary_row(run, "train_loss"), 1.383);
    const ImportedRun lines =
        import_text("{'loss': " + number("0.9") + ", 'epoch': " + number("2") + "}\n" + summary)
            .runs.at(0);
    EXPECT_DOUBLE_EQ(lines.epochs.at(0).train_loss, 0.9)
        << "the mean of the run is not that of the end";
  }
}

TEST(TrainerSummary, IsReadAsTheExampleScriptsPrintIt) {
  const ImportedRun run = import_fixture("trainer_summary.log").runs.at(0);
  EXPECT_EQ(*run.workers, 4);
  EXPECT_DOUBLE_EQ(*run.total_s, 4.73);
  EXPECT_DOUBLE_EQ(summary_row(run, "train_loss"), 1.383);
  EXPECT_DOUBLE_EQ(run.epochs.at(0).val_accuracy, 0.8123);
}

}  // namespace
}  // namespace lockstep::import
