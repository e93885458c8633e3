#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lockstep/analyze/speedup.h"
#include "lockstep/predict/series_table.h"

namespace lockstep::report {

/// What tells one line of a chart apart from the others, part by part: device, setting, batch.
using LabelParts = std::vector<std::string>;

/// `told`: the notes that the setting is made of.
LabelParts label_parts(const predict::TableSeries& series, const std::set<std::string>& told);
LabelParts label_parts(const analyze::SpeedupGroup& group, const analyze::SpeedupPoint& point);

/// Whether a setting such as "cpus=16, strategy=overlap" gives a note another value.
bool contradicts(const std::map<std::string, std::string>& notes, const std::string& setting);

/// One short label each: parts that all have in common are left out, unless nothing would remain.
/// Labels that come out the same get a number, so that a legend names each line once.
std::vector<std::string> short_labels(const std::vector<LabelParts>& parts);

/// "fashion on fashion-mnist".
std::string job_name(const std::string& model, const std::string& dataset);

}  // namespace lockstep::report
