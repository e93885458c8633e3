#pragma once

#include <string>

#include "lockstep/report/study_report.h"

namespace lockstep::cli {

/// Tells a report how fast the links are that the runs of a study (all runs where it is empty)
/// used, from `lockstep bench collectives`: the newest calibration of the same machine, back end
/// and worker count. Where there is none, the note explains how to get one.
void use_calibrated_links(const std::string& store_path, const std::string& study,
                          report::StudyOptions& options);

}  // namespace lockstep::cli
