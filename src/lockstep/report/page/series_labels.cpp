#include "lockstep/report/page/series_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lockstep/record/measurement_columns.h"

namespace lockstep::report {
namespace {

std::string batch_part(bool strong, const std::optional<double>& local,
                       const std::optional<std::int64_t>& global) {
  if (strong && global) return fmt::format("B = {}", *global);
  if (!strong && local) return "b = " + record::batch_text(*local);
  if (global) return fmt::format("B = {}", *global);
  if (local) return "b = " + record::batch_text(*local);
  return "";
}

std::string joined(const LabelParts& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  }
  return text;
}

}  // namespace

LabelParts label_parts(const predict::TableSeries& series, const std::set<std::string>& told) {
  std::string setting;
  for (const auto& [name, value] : series.settings) {
    if (told.count(name) != 0) setting += (setting.empty() ? "" : ", ") + name + "=" + value;
  }
  return {series.device, setting,
          batch_part(series.scaling == predict::Scaling::kStrong, series.batch_per_worker,
                     series.global_batch)};
}

LabelParts label_parts(const analyze::SpeedupGroup& group, const analyze::SpeedupPoint& point) {
  const analyze::Configuration& c = point.configuration;
  return {group.device, group.variant,
          batch_part(group.scaling != analyze::Scaling::kWeak, c.batch_per_worker, c.global_batch)};
}

bool contradicts(const std::map<std::string, std::string>& notes, const std::string& setting) {
  const std::string framed = ", " + setting + ", ";
  return std::any_of(notes.begin(), notes.end(), [&](const auto& note) {
    const std::string name = ", " + note.first + "=";
    return framed.find(name) != std::string::npos &&
           framed.find(name + note.second + ", ") == std::string::npos;
  });
}

std::vector<std::string> short_labels(const std::vector<LabelParts>& parts) {
  std::vector<bool> differs(3, false);
  for (const LabelParts& one : parts) {
    for (std::size_t p = 0; p < differs.size(); ++p) {
      if (one[p] != parts.front()[p]) differs[p] = true;
    }
  }
  const bool all_alike = std::none_of(differs.begin(), differs.end(), [](bool d) { return d; });
  std::map<std::string, int> seen;
  std::vector<std::string> labels;
  for (LabelParts one : parts) {
    for (std::size_t p = 0; p < differs.size() && !all_alike; ++p) {
      if (!differs[p]) one[p].clear();
    }
    std::string label = joined(one);
    if (label.empty()) label = "all";
    const int number = ++seen[label];
    labels.push_back(number == 1 ? label : fmt::format("{} ({})", label, number));
  }
  return labels;
}

std::string job_name(const std::string& model, const std::string& dataset) {
  const std::string name = model.empty() ? "unnamed model" : model;
  return dataset.empty() ? name : name + " on " + dataset;
}

}  // namespace lockstep::report
