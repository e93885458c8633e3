#include "lockstep/analyze/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "lockstep/record/measurement_columns.h"

namespace lockstep::analyze {
namespace {

/// Points that lie on a series of two counts or more when this batch is held fixed.
std::size_t points_in_series(const std::vector<const Configuration*>& members, Scaling scaling) {
  std::map<double, std::set<std::int64_t>> counts;
  for (const Configuration* c : members) {
    const auto batch = fixed_batch(*c, scaling);
    if (batch && c->workers) counts[*batch].insert(*c->workers);
  }
  std::size_t points = 0;
  for (const auto& [batch, workers] : counts) points += workers.size() > 1 ? workers.size() : 0;
  return points;
}

/// What the table fixed: the batch that it gives; or the other one where only that makes a series,
/// as of a table of global batches that grow with the workers.
Scaling scaling_of_given(const std::vector<const Configuration*>& members, Scaling given) {
  const Scaling other = given == Scaling::kWeak ? Scaling::kStrong : Scaling::kWeak;
  const bool others = points_in_series(members, given) == 0 && points_in_series(members, other) > 0;
  return others ? other : given;
}

Scaling scaling_among(const std::vector<const Configuration*>& members) {
  bool per_worker = false;
  bool global = false;
  bool mixed = false;
  bool unstated = false;
  bool several_workers = false;  ///< of a known batch
  for (const Configuration* c : members) {
    if (c->scaling && *c->scaling != Scaling::kMixed) return *c->scaling;
    mixed |= c->scaling.has_value();
    unstated |= c->stated_batch.has_value();
    several_workers |= c->global_batch && c->workers.value_or(0) != 1;
    per_worker |= c->gave_batch_per_worker;
    global |= c->gave_global_batch;
  }
  if (mixed) return Scaling::kMixed;
  if (unstated && !several_workers) return Scaling::kUnstated;  // on one worker it is b and B
  if (!per_worker && !global) return Scaling::kUnstated;
  if (per_worker != global) {
    return scaling_of_given(members, global ? Scaling::kStrong : Scaling::kWeak);
  }
  return points_in_series(members, Scaling::kStrong) > points_in_series(members, Scaling::kWeak)
             ? Scaling::kStrong
             : Scaling::kWeak;
}

using LabelParts = std::array<std::string, 3>;

std::string joined(const LabelParts& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  }
  return text;
}

}  // namespace

bool SeriesKey::operator<(const SeriesKey& other) const {
  return std::tie(model, dataset, device, settings, scaling, batch) <
         std::tie(other.model, other.dataset, other.device, other.settings, other.scaling,
                  other.batch);
}

std::string SeriesKey::setting() const {
  std::string text;
  for (const auto& [name, value] : settings) {
    text += (text.empty() ? "" : ", ") + name + "=" + value;
  }
  return text;
}

std::string SeriesKey::batch_text() const {
  if (!batch) return "";
  if (scaling == Scaling::kUnstated) return "batch " + record::batch_text(*batch);
  return fmt::format("{} = {}", scaling == Scaling::kWeak ? "b" : "B", record::batch_text(*batch));
}

std::optional<double> fixed_batch(const Configuration& c, Scaling scaling) {
  if (scaling == Scaling::kMixed) return std::nullopt;
  if (scaling == Scaling::kWeak) return c.batch_per_worker;
  auto batch = c.global_batch;
  if (scaling == Scaling::kUnstated && (c.stated_batch || c.workers != 1)) batch = c.stated_batch;
  return batch ? std::optional(static_cast<double>(*batch)) : std::nullopt;
}

SeriesKey series_key(const Configuration& c, Scaling scaling) {
  return {c.model, c.dataset, c.device, c.settings, scaling, fixed_batch(c, scaling)};
}

ScalingRule::ScalingRule(std::span<const Configuration> configurations,
                         std::optional<Scaling> stated) {
  std::map<Group, std::vector<const Configuration*>> groups;
  for (const Configuration& c : configurations) groups[group_of(c)].push_back(&c);
  stated_ = stated.has_value();
  for (const auto& [group, members] : groups) {
    scaling_[group] = stated ? *stated : scaling_among(members);
  }
}

ScalingRule::Group ScalingRule::group_of(const Configuration& c) {
  return {c.model, c.dataset, c.device, c.variant};
}

Scaling ScalingRule::of(const Configuration& c) const {
  // A source may have some rows of one batch and others in which both batches change.
  if (!stated_ && c.scaling == Scaling::kMixed) return Scaling::kMixed;
  const auto found = scaling_.find(group_of(c));
  return found == scaling_.end() ? Scaling::kUnstated : found->second;
}

std::vector<std::string> short_labels(std::span<const SeriesKey> keys) {
  std::vector<LabelParts> parts;
  for (const SeriesKey& key : keys) {
    parts.push_back({key.device, key.setting(), key.batch_text()});
  }
  std::array<bool, 3> differs{};
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

}  // namespace lockstep::analyze
