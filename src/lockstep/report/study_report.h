#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "lockstep/advise/job_advice.h"
#include "lockstep/analyze/communication.h"
#include "lockstep/analyze/speedup/speedup.h"
#include "lockstep/analyze/stability.h"
#include "lockstep/analyze/verdict/verdict.h"
#include "lockstep/collect/calibrated_links.h"
#include "lockstep/collect/stored_runs.h"
#include "lockstep/predict/series_table.h"
#include "lockstep/record/measurement.h"
#include "lockstep/report/render/table.h"

namespace lockstep::report {

struct StudyOptions {
  analyze::SpeedupOptions speedup{};
  analyze::StabilityRule stability{};
  collect::CalibratedLinks links{};  ///< for the utilisation
  predict::RowsFrom rows_from = predict::RowsFrom::kTable;
  std::map<std::string, std::int64_t> rooms{};     ///< see advise::Measured
  std::map<std::string, double> price_per_hour{};  ///< of one device, by device name
  std::optional<double> carbon_g_per_kwh{};        ///< of the electricity
  std::map<std::string, double> peak_flops{};      ///< of one worker, by peak_key()
};

/// All results of a set of measurements.
struct StudyReport {
  std::vector<advise::JobAdvice> advice;  ///< empty if no time can be compared
  std::vector<Table> tables;  ///< time and speedup, where the time goes, all-reduce, quality
  std::vector<analyze::Finding> verdict;
};

/// Of a table. Throws kUsage for a baseline that was not
/// measured.
StudyReport study_report(std::span<const record::Measurement> rows,
                         const StudyOptions& options = {});

/// The same of runs of a store, with the delays of its runs and the room of their hosts.
StudyReport study_report(const collect::StoredRuns& found, StudyOptions options = {});

/// The advice about a study: what the report, the page and `lockstep advise` without limits have.
std::vector<advise::JobAdvice> study_advice(std::span<const analyze::Configuration> configurations,
                                            std::span<const analyze::SpeedupGroup> groups,
                                            const std::vector<predict::TableSeries>& series,
                                            const StudyOptions& options);

/// The decision in a sentence per job; of more than three the first ones and how many follow.
std::string decision_text(std::span<const advise::JobAdvice> advice);

/// The sentence that defines when a worker count pays.
std::string paying_rule();

/// Text, Markdown and LaTeX one after the other with the verdict at the end; JSON as one object
/// with "tables" and "verdict". Not for CSV, whose form of a study is the measurements table.
std::string render_study(const StudyReport& report, Format format,
                         const RenderOptions& options = {});

}  // namespace lockstep::report
