#pragma once

#include <span>

#include "lockstep/analyze/configuration.h"
#include "lockstep/analyze/speedup.h"
#include "lockstep/analyze/verdict_parts.h"
#include "lockstep/report/page/page.h"

namespace lockstep::report {

/// What the views share, computed once.
struct PageContext {
  const PageSource& source;
  std::vector<analyze::Configuration> configurations;
  std::vector<analyze::SpeedupGroup> groups;
  std::vector<JobAdvice> advice;  ///< one a model and data set that can be predicted
};

// The sections of a page, one file each.
View decision_view(const PageContext& context);
View scaling_view(const PageContext& context);
View time_view(const PageContext& context);
View batch_view(const PageContext& context);
View bandwidth_view(const PageContext& context);
View learning_view(const PageContext& context);
View steps_view(const PageContext& context);
View backtest_view(const PageContext& context);
View runs_view(const PageContext& context);

/// Which worker count to use for each job of the page, in agreement with the verdict.
std::vector<JobAdvice> job_advice(const PageSource& source,
                                  const std::vector<analyze::Configuration>& configurations,
                                  const std::vector<analyze::SpeedupGroup>& groups);

/// Whether a series to predict from holds the points of a speedup.
bool same_series(const predict::TableSeries& series, const analyze::SpeedupGroup& group,
                 const analyze::PointSeries& points);

/// "run 7: fashion, 2 x 128, overlap".
std::string run_title(const store::RunSummary& run);

}  // namespace lockstep::report
