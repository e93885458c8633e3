#include <gtest/gtest.h>

#include <algorithm>

#include "lockstep/import/measurements_table.h"
#include "lockstep/predict/backtest.h"
#include "lockstep/predict/series_table.h"

namespace lockstep::predict {
namespace {

/// Scaling series that others published; docs/internals/prediction-choice.md describes them.
Backtest backtest_of(const std::string& kind) {
  static const std::vector<HeldOut> held_out = [] {
    const auto table = import::read_measurements_file(LOCKSTEP_PUBLISHED_SERIES);
    return hold_out_largest(learning_series(series_of(table.rows, "series")), shipped_prior(),
                            true);
  }();
  if (kind.empty()) return summarize_backtest(held_out);
  for (const PartOfBacktest& part : backtest_by(held_out, &HeldOut::kind)) {
    if (part.name == kind) return part.result;
  }
  return {};
}

double best_textbook_mean(const Backtest& backtest) {
  double best = 1;
  for (const ErrorSummary& form : backtest.classic) best = std::min(best, form.mean);
  return best;
}

TEST(PublishedSeries, ThePredictorIsAheadOfEveryTextbookForm) {
  const Backtest all = backtest_of("");
  EXPECT_GE(all.series, 330u);
  EXPECT_LT(all.ours.mean, 0.9 * best_textbook_mean(all));
}

TEST(PublishedSeries, ItIsNotBehindOnAnyKindOfScaling) {
  for (const char* kind : {"weak", "strong", "mixed", "not stated"}) {
    const Backtest part = backtest_of(kind);
    ASSERT_GE(part.series, 20u) << kind;
    EXPECT_LT(part.ours.mean, 1.05 * best_textbook_mean(part)) << kind;
  }
}

TEST(PublishedSeries, NineOfTenIntervalsCoverWhatWasMeasured) {
  const Backtest all = backtest_of("");
  EXPECT_NEAR(all.coverage, 0.9, 0.05);
}

}  // namespace
}  // namespace lockstep::predict
