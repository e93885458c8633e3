#pragma once

#include <span>
#include <string>
#include <vector>

#include "lockstep/analyze/communication.h"
#include "lockstep/analyze/speedup.h"
#include "lockstep/analyze/stability.h"
#include "lockstep/analyze/verdict.h"
#include "lockstep/record/measurement.h"
#include "lockstep/report/table.h"

namespace lockstep::report {

struct StudyOptions {
  analyze::SpeedupOptions speedup{};
  analyze::StabilityRule stability{};
  analyze::LinkSpeeds links{};  ///< calibrated, for the utilisation
  std::string link_note{};      ///< where they are from, one sentence
};

/// All that lockstep has to say about a set of measurements.
struct StudyReport {
  std::vector<Table> tables;  ///< time and speedup, where the time goes, all-reduce, quality
  std::vector<analyze::Finding> verdict;
};

/// From an imported table and from runs of a store alike. Throws kUsage for a baseline that was not
/// measured.
StudyReport study_report(std::span<const record::Measurement> rows,
                         const StudyOptions& options = {});

/// The sentence that says when a worker count pays.
std::string paying_rule();

/// Text, Markdown and LaTeX one after the other with the verdict at the end; JSON as one object
/// with "tables" and "verdict". Not for CSV, whose form of a study is the measurements table.
std::string render_study(const StudyReport& report, Format format,
                         const RenderOptions& options = {});

}  // namespace lockstep::report
