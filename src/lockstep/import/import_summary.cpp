#include "lockstep/import/import_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "lockstep/base/statistics.h"
#include "lockstep/base/units.h"
#include "lockstep/import/run_record.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kShownRuns = 12;
constexpr std::size_t kShownFigures = 4;

template <class T>
std::string fact_text(const Fact<T>& fact) {
  if (!fact) return "?";
  const std::string source =
      fact.from == Provenance::kLog ? "" : fmt::format(" ({})", provenance_name(fact.from));
  return fmt::format("{}{}", *fact, source);
}

/// The figure of the last epoch that has it.
double last_of(const ImportedRun& run, double record::EpochResult::*field) {
  for (std::size_t i = run.epochs.size(); i > 0; --i) {
    if (std::isfinite(run.epochs[i - 1].*field)) return run.epochs[i - 1].*field;
  }
  return run.at_end ? (*run.at_end).*field : record::kUnknown;
}

double epoch_time(const ImportedRun& run) {
  std::vector<double> times;
  for (const record::EpochResult& epoch : run.epochs) {
    if (epoch.train_s > 0) times.push_back(epoch.train_s);
  }
  if (times.empty()) return run.epoch_s.value_or(0);
  return median(times);
}

/// As a report shows it: of epochs the median, the first left out.
double throughput(const ImportedRun& run) {
  if (run.reported_throughput) return *run.reported_throughput;
  std::vector<double> rates;
  for (const record::EpochResult& epoch : run.epochs) {
    if (epoch.examples_per_s > 0) rates.push_back(epoch.examples_per_s);
  }
  if (rates.size() > 1) rates.erase(rates.begin());
  if (!rates.empty()) return median(rates);
  return run.throughput.empty() ? 0 : run.throughput.median();
}

std::string epochs_text(const ImportedRun& run) {
  const std::size_t told = run.epochs.size();
  const auto last = static_cast<std::size_t>(run.epochs.back().epoch);
  // MLPerf logs and the like evaluate every fourth epoch only.
  if (last > told && run.epochs.front().epoch > 1)
    return fmt::format("{} of {} epochs reported", told, last);
  return fmt::format("{} epoch{}", told, told == 1 ? "" : "s");
}

/// Figures that Lockstep has no word for, by their own names.
std::string other_figures(const ImportedRun& run) {
  std::vector<std::string> names;
  for (const auto& [name, series] : run.other) {
    if (names.size() == kShownFigures) {
      names.push_back(fmt::format("{} more", run.other.size() - kShownFigures));
      break;
    }
    names.push_back(name);
  }
  return fmt::format("also {}", fmt::join(names, ", "));
}

void add_times(const ImportedRun& run, std::vector<std::string>& parts) {
  if (const double seconds = epoch_time(run); seconds > 0) {
    parts.push_back(fmt::format("{} per epoch", format_seconds(Seconds(seconds))));
  }
  if (!run.step_time.empty()) {
    parts.push_back(fmt::format("{} per step", format_seconds(Seconds(run.step_time.median()))));
  }
  if (const double rate = throughput(run); rate > 0)
    parts.push_back(fmt::format("{:.1f} examples/s", rate));
  if (run.total_s) parts.push_back(fmt::format("{} in all", format_seconds(Seconds(*run.total_s))));
  if (run.queue_wait_s)
    parts.push_back(fmt::format("{} in the queue", format_seconds(Seconds(*run.queue_wait_s))));
  if (!run.link.empty()) {
    double best = 0;
    for (const LinkPoint& point : run.link) best = std::max(best, point.busbw);
    parts.push_back(fmt::format("{} {} points, best bus bandwidth {:.1f} GB/s", run.link.size(),
                                run.collective.empty() ? "collective" : run.collective,
                                best / 1e9));
  }
  for (const RankSplit& split : run.ranks) {
    if (!std::isfinite(split.communication_s)) continue;
    parts.push_back(fmt::format(
        "rank {}: compute {}, communication {} ({} exposed) per step", split.rank,
        std::isfinite(split.compute_s) ? format_seconds(Seconds(split.compute_s)) : "?",
        format_seconds(Seconds(split.communication_s)),
        std::isfinite(split.exposed_s) ? format_seconds(Seconds(split.exposed_s)) : "?"));
  }
}

std::string place_of(const store::AddedImport& stored) {
  if (stored.run == 0) return "found";
  if (stored.fresh) return fmt::format("run {}", stored.run);
  if (stored.moved)
    return fmt::format("run {}, already imported, moved into the study", stored.run);
  if (stored.other_study.empty()) return fmt::format("run {}, known", stored.run);
  return fmt::format("run {}, already imported, stays in study {} (--replace moves it)", stored.run,
                     stored.other_study);
}

std::string run_line(const ImportedRun& run, const store::AddedImport& stored) {
  std::vector<std::string> parts;
  if (!run.label.empty()) parts.push_back(run.label);
  if (!run.rows.empty()) parts.push_back(fmt::format("{} rows", run.rows.size()));
  if (run.rows.empty() && (run.is_training() || run.workers)) {
    parts.push_back(fmt::format("workers {}", fact_text(run.workers)));
  }
  if (run.batch_per_worker) {
    parts.push_back(fmt::format("batch {} per worker", fact_text(run.batch_per_worker)));
  } else if (run.global_batch) {
    parts.push_back(fmt::format("global batch {}", fact_text(run.global_batch)));
  }
  if (!run.epochs.empty()) parts.push_back(epochs_text(run));
  add_times(run, parts);
  if (const double accuracy = last_of(run, &record::EpochResult::val_accuracy);
      std::isfinite(accuracy)) {
    parts.push_back(fmt::format("val accuracy {:.4f}", accuracy));
  } else if (const double loss = last_of(run, &record::EpochResult::val_loss);
             std::isfinite(loss)) {
    parts.push_back(fmt::format("val loss {:.4g}", loss));
  }
  if (run.epochs.empty() && !run.train_loss.empty())
    parts.push_back(fmt::format("train loss {:.4g} at the end", run.train_loss.last()));
  if (run.out_of_memory) parts.push_back("out of memory");
  // Where the figures that Lockstep computes with are there, the others are no news.
  if (!run.other.empty() && run.epochs.empty()) parts.push_back(other_figures(run));
  return fmt::format("  {}: {}\n", place_of(stored), fmt::join(parts, ", "));
}

}  // namespace

std::string summary_text(const FileOutcome& outcome) {
  if (!outcome.error.empty()) return "";
  const ImportedFile& file = outcome.file;
  std::string text = fmt::format("{}: {}, {} run{}\n", file.path, file.format, file.runs.size(),
                                 file.runs.size() == 1 ? "" : "s");
  std::size_t shown = 0;
  std::size_t empty = 0;
  for (std::size_t i = 0; i < file.runs.size(); ++i) {
    if (!file.runs[i].has_figures()) {
      ++empty;
    } else if (shown++ < kShownRuns) {
      // A dry run stores nothing, so there is no place to name.
      text += run_line(file.runs[i],
                       i < outcome.stored.size() ? outcome.stored[i] : store::AddedImport{});
    }
  }
  if (shown > kShownRuns) text += fmt::format("  and {} more\n", shown - kShownRuns);
  if (empty > 0) {
    text += fmt::format("  {}without any figures: not stored\n",
                        file.runs.size() == 1       ? ""
                        : empty == file.runs.size() ? "all of them "
                                                    : fmt::format("{} of them ", empty));
  }
  for (const Remark& remark : remarks_on(file))
    text += fmt::format("  {} {}\n", remark.kind, remark.text);
  return text;
}

std::vector<Remark> remarks_on(const ImportedFile& file) {
  std::map<std::string, std::size_t> missing;
  std::map<std::string, std::size_t> warnings;
  for (const ImportedRun& run : file.runs) {
    for (const std::string& what : run.missing) ++missing[what];
    for (const std::string& what : run.warnings) ++warnings[what];
  }
  const auto times = [&](std::size_t count) {
    return file.runs.size() > 1 ? fmt::format(" ({} of {} runs)", count, file.runs.size())
                                : std::string();
  };
  std::vector<Remark> remarks;
  for (const auto& [what, count] : missing) remarks.push_back({"missing", what + times(count)});
  for (const auto& [what, count] : warnings) remarks.push_back({"note:", what + times(count)});
  for (const std::string& what : file.warnings) remarks.push_back({"warning:", what});
  return remarks;
}

std::string comparison_hint(const std::vector<FileOutcome>& outcomes) {
  std::map<std::string, std::set<std::int64_t>> counts;
  std::set<std::int64_t> all;
  for (const FileOutcome& outcome : outcomes) {
    for (const ImportedRun& run : outcome.file.runs) {
      if (!run.workers || !run.has_figures() || !run.is_training()) continue;
      if (!run.model || run.model.from != Provenance::kName) return "";
      counts[*run.model].insert(*run.workers);
      if (counts[*run.model].size() > 1) return "";
      all.insert(*run.workers);
    }
  }
  if (counts.size() < 2 || all.size() < 2) return "";
  std::vector<std::string> names;
  for (const auto& [name, workers] : counts) {
    if (names.size() < kShownFigures) names.push_back(name);
  }
  return fmt::format(
      "note: the logs do not name their network, so each file counts as a network of its own "
      "({}{}) and no worker counts are compared; if it is one network: --replace --set model=NAME",
      fmt::join(names, ", "), counts.size() > names.size() ? ", ..." : "");
}

std::string explained_text(const import::ImportedFile& file) {
  if (file.explained.empty()) {
    if (file.format.empty()) return "";  // not recognised, which the summary reports
    return fmt::format("{}: {}, no lines to show\n", file.path, file.format);
  }
  std::string text = fmt::format("{}\n  line  part  meaning\n", file.path);
  for (const import::ExplainedLine& line : file.explained) {
    text += fmt::format("{:>6}  {:>4}  {}\n{:14}| {}\n", line.number, line.part + 1, line.words, "",
                        line.text.substr(0, 100));
  }
  return text;
}

nlohmann::json summary_json(const FileOutcome& outcome) {
  nlohmann::json out{{"path", outcome.file.path}};
  if (!outcome.error.empty()) {
    out["error"] = outcome.error;
    out["hint"] = outcome.hint;
    return out;
  }
  out["format"] = outcome.file.format;
  out["digest"] = outcome.file.digest;
  out["bytes"] = outcome.file.bytes;
  out["warnings"] = outcome.file.warnings;
  out["runs"] = nlohmann::json::array();
  for (std::size_t i = 0; i < outcome.file.runs.size(); ++i) {
    nlohmann::json run = describe(outcome.file.runs[i]);
    const store::AddedImport stored =
        i < outcome.stored.size() ? outcome.stored[i] : store::AddedImport{};
    run["run"] = stored.run == 0 ? nlohmann::json(nullptr) : nlohmann::json(stored.run);
    run["added"] = stored.fresh;
    out["runs"].push_back(std::move(run));
  }
  return out;
}

}  // namespace lockstep::import
