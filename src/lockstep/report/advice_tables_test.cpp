#include "lockstep/report/advice_tables.h"

#include <gtest/gtest.h>

#include <sstream>

#include "lockstep/analyze/measurement_rows.h"
#include "lockstep/report/render/text_width.h"

namespace lockstep::report {
namespace {

std::string advice_at(std::size_t width) {
  analyze::MeasurementRows rows;
  rows.at_global(1, 512, "epoch_time", 40).at_global(2, 512, "epoch_time", 22);
  rows.at_global(4, 512, "epoch_time", 20);
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
