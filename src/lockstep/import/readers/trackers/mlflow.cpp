#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lockstep/import/model/config_facts.h"
#include "lockstep/import/model/epoch_means.h"
#include "lockstep/import/readers/trackers/run_folders.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostMlflowFiles = 4096;

/// One line of a metric's file: "timestamp value step", the time in milliseconds.
struct MlflowPoint {
  std::int64_t step = 0;
  double value = 0;
};
using MlflowMetrics = std::map<std::string, std::vector<MlflowPoint>>;

/// The value of "name: value" in a flat YAML file.
std::string_view mlflow_value(std::string_view yaml, std::string_view name) {
  while (!yaml.empty()) {
    const std::size_t stop = yaml.find('\n');
    std::string_view line = yaml.substr(0, stop);
    yaml = stop == std::string_view::npos ? std::string_view() : yaml.substr(stop + 1);
    if (!line.starts_with(name) || !line.substr(name.size()).starts_with(':')) continue;
    line = trim(line.substr(name.size() + 1));
    if (line.size() >= 2 && (line[0] == '\'' || line[0] == '"') && line.back() == line[0])
      line = line.substr(1, line.size() - 2);
    return line;
  }
  return {};
}

std::vector<MlflowPoint> mlflow_points(std::string_view text) {
  std::vector<MlflowPoint> points;
  while (!text.empty()) {
    const std::size_t stop = text.find('\n');
    std::string_view line = text.substr(0, stop);
    text = stop == std::string_view::npos ? std::string_view() : text.substr(stop + 1);
    const auto stamp = take_number(line);
    const auto value = stamp ? take_number(line) : std::nullopt;
    if (!value) continue;
    const auto step = take_number(line);
    const bool whole = step && *step >= 0 && *step < 9e15;
    points.push_back({whole ? static_cast<std::int64_t>(*step) : 0, *value});
  }
  return points;
}

/// The files below `folder` by their names there, which may have slashes ("train/loss").
std::map<std::string, fs::path> mlflow_files(const fs::path& folder) {
  std::map<std::string, fs::path> files;
  std::error_code problem;
  fs::recursive_directory_iterator entry(folder, problem);
  for (const fs::recursive_directory_iterator end; !problem && entry != end;
       entry.increment(problem)) {
    std::error_code ignored;
    if (!entry->is_regular_file(ignored) || files.size() >= kMostMlflowFiles) continue;
    files.emplace(entry->path().lexically_relative(folder).generic_string(), entry->path());
  }
  return files;
}

/// Which epoch each step is in: by a metric that says so, or because no metric has more steps than
/// the run has epochs. Empty where neither shows it.
std::map<std::int64_t, double> epochs_of_steps(const MlflowMetrics& metrics,
                                               std::optional<std::int64_t> planned) {
  std::map<std::int64_t, double> epochs;
  if (const auto named = metrics.find("epoch"); named != metrics.end()) {
    for (const MlflowPoint& point : named->second) epochs[point.step] = point.value;
    return epochs;
  }
  std::set<std::int64_t> steps;
  std::size_t longest = 0;
  for (const auto& [name, points] : metrics) {
    longest = std::max(longest, points.size());
    for (const MlflowPoint& point : points) steps.insert(point.step);
  }
  if (!planned || longest < 2 || longest > static_cast<std::size_t>(*planned)) return {};
  const std::int64_t first = *steps.begin();
  if (first > 1 || *steps.rbegin() - first >= *planned) return {};
  for (const std::int64_t step : steps) epochs[step] = static_cast<double>(step);
  return epochs;
}

void add_mlflow_metrics(const MlflowMetrics& metrics, ImportedRun& run) {
  const auto epochs = epochs_of_steps(metrics, run.epochs_planned.value);
  // Row by row, as they were logged: means of an epoch are taken while it lasts.
  std::map<std::int64_t, std::vector<std::pair<const std::string*, double>>> rows;
  for (const auto& [name, points] : metrics) {
    if (name == "epoch" || name.starts_with("system/")) continue;
    for (const MlflowPoint& point : points) rows[point.step].emplace_back(&name, point.value);
  }
  EpochMeans means;
  for (const auto& [step, figures] : rows) {
    std::optional<double> epoch;
    const auto found = epochs.lower_bound(step);
    if (found != epochs.end()) epoch = found->second;
    for (const auto& [name, value] : figures) means.add(*name, value, epoch, step, run);
  }
  means.finish(run);
}

void add_mlflow_state(std::string_view meta, ImportedRun& run) {
  const auto begin = parse_integer(mlflow_value(meta, "start_time"));
  const auto end = parse_integer(mlflow_value(meta, "end_time"));
  constexpr std::int64_t kMost = 9'000'000'000'000;
  if (begin && *begin > 0 && *begin < kMost) run.started_wall_ns = *begin * 1'000'000;
  if (begin && end && *end > *begin && *end < kMost) {
    run.ended_wall_ns = *end * 1'000'000;
    run.total_s = static_cast<double>(*end - *begin) / 1000;
    run.notes["total_time"] = "end_time - start_time";
  }
  const std::string_view status = mlflow_value(meta, "status");
  if (status == "4" || status == "FAILED") run.failure = "MLflow lists it as failed";
  if (status == "5" || status == "KILLED") run.failure = "MLflow lists it as killed";
  if (status == "1" || status == "RUNNING")
    run.warnings.emplace_back(
        "MLflow lists it as running: it had not ended, or its end was not recorded");
  if (mlflow_value(meta, "lifecycle_stage") == "deleted")
    run.warnings.emplace_back("it was deleted in MLflow");
  const std::string_view name = mlflow_value(meta, "run_name");
  if (!name.empty()) run.label = printable(name);
}

}  // namespace

bool is_mlflow_run(const fs::path& folder) {
  std::error_code problem;
  return fs::is_regular_file(folder / "meta.yaml", problem) &&
         fs::is_directory(folder / "metrics", problem);
}

void read_mlflow_run(const fs::path& folder, ImportSink& sink, ContentDigest& digest) {
  ImportedRun run;
  const std::string meta = digest.file(folder / "meta.yaml");
  add_mlflow_state(meta, run);
  for (const auto& [name, path] : mlflow_files(folder / "params"))
    offer_config(name, digest.file(path), run);
  if (!run.model) {
    ContentDigest beside;
    const std::string experiment = beside.file(folder.parent_path() / "meta.yaml");
    const std::string_view name = mlflow_value(experiment, "name");
    if (!name.empty()) run.model.offer(printable(name), Provenance::kName);
  }
  MlflowMetrics metrics;
  for (const auto& [name, path] : mlflow_files(folder / "metrics"))
    metrics[name] = mlflow_points(digest.file(path));
  add_mlflow_metrics(metrics, run);
  if (!metrics.empty() && run.has_figures()) sink.add(std::move(run));
}

}  // namespace lockstep::import
