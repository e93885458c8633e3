#include "lockstep/report/advice_tables.h"

#include <gtest/gtest.h>

#include <sstream>

#include "lockstep/analyze/measurement_rows.h"
#include "lockstep/report/render/text_width.h"

namespace lockstep::report {
namespace {

analyze::MeasurementRows three_counts() {
  analyze::MeasurementRows rows;
  rows.at_global(1, 512, "epoch_time", 40).at_global(2, 512, "epoch_time", 22);
  rows.at_global(4, 512, "epoch_time", 20);
  return rows;
}

std::string advice_at(std::size_t width, const analyze::MeasurementRows& rows = three_counts()) {
  const auto configurations = analyze::configurations(rows.rows);
  const auto groups = analyze::speedups(configurations);
  const auto jobs = advise::advise(
      {configurations, groups, predict::job_series(rows.rows, predict::RowsFrom::kTable)});
  return advice_text(jobs.at(0), 1, {}, {"a note of the command"}, {.width = width});
}

TEST(AdviceText, FitsATerminalOf80Columns) {
  std::istringstream lines(advice_at(80));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80u) << line;
}

TEST(AdviceText, RunsThatOtherProgramsDisturbedAreTheNextOnes) {
  analyze::MeasurementRows rows = three_counts();
  rows.at_global(8, 512, "epoch_time", 19).at_global(16, 512, "epoch_time", 19);
  EXPECT_NE(advice_at(0, rows).find("next run: none"), std::string::npos) << advice_at(0, rows);
  rows.note("disturbed", "45 % of the CPU time");
  EXPECT_NE(advice_at(0, rows).find("next run: the measured ones again, on a quiet machine"),
            std::string::npos)
      << advice_at(0, rows);
}

TEST(AdviceText, NamesTheNextRunOnceAndEndsWithNotes) {
  const std::string text = advice_at(0);
  const std::size_t first = text.find("next run: ");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("run to make next"), std::string::npos) << text;
  EXPECT_NE(text.find("\nnote: a note of the command\nnote: interval at 2 workers: "),
            std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with("note: in brackets: 90 % intervals\n")) << text;
}

}  // namespace
}  // namespace lockstep::report
