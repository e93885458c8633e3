#pragma once

#include <span>

#include "lockstep/analyze/configuration.h"
#include "lockstep/analyze/speedup/speedup.h"
#include "lockstep/analyze/verdict/verdict_parts.h"
#include "lockstep/report/page/page.h"

namespace lockstep::report {

/// What the views share, computed once.
struct PageContext {
  const PageSource& source;
  std::vector<analyze::Configuration> configurations;
  std::vector<analyze::SpeedupGroup> groups;
  std::vector<predict::TableSeries> series{};  ///< to predict from; may be empty
  std::vector<JobAdvice> advice{};             ///< one per model and data set with a known time
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
View simulation_view(const PageContext& context);
View runs_view(const PageContext& context);

/// All of them, in the order of the page.
inline constexpr View (*kViews[])(const PageContext& context) = {
    &decision_view, &scaling_view, &time_view,     &batch_view,      &bandwidth_view,
    &learning_view, &steps_view,   &backtest_view, &simulation_view, &runs_view};

/// "run 7: fashion, 2 x 128, overlap".
std::string run_title(const store::RunSummary& run);

}  // namespace lockstep::report
