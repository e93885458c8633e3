#include "lockstep/import/import_store.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lockstep/base/error.h"
#include "lockstep/import/run_record.h"

namespace lockstep::import {
namespace {

store::ImportedRecord record_of(const ImportedFile& file, const ImportedRun& run, std::size_t index,
                                const std::string& study) {
  RunRecord record = to_record(run, file.path);
  store::ImportedRecord out;
  // The place in the file tells runs apart even where labels repeat.
  const std::string part = file.runs.size() == 1 ? "" : fmt::format("{} {}", index + 1, run.label);
  out.source = {file.digest, part, file.path, file.format,
                describe(run).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
  out.label.study = study;
  if (!study.empty()) {
    out.label.cell = fmt::format("workers={} batch={}", record.started.spec.workers,
                                 record.started.spec.batch_per_worker);
  }
  out.started = std::move(record.started);
  out.epochs = std::move(record.epochs);
  out.steps = std::move(record.steps);
  out.ended = std::move(record.ended);
  out.measurements = std::move(record.measurements);
  return out;
}

void require_figures(const ImportedFile& file) {
  for (const ImportedRun& run : file.runs) {
    if (run.has_figures()) return;
  }
  throw Error(ErrorKind::kUsage, fmt::format("{} contains no figures of a run", file.path),
              "lockstep import --list-formats shows the supported formats");
}

}  // namespace

void store_outcomes(const std::string& store_path, const std::string& study, bool replace,
                    std::vector<FileOutcome>& outcomes) {
  std::vector<store::ImportedRecord> records;
  std::vector<store::AddedImport*> places;
  for (FileOutcome& outcome : outcomes) {
    outcome.stored.resize(outcome.file.runs.size());
    for (std::size_t i = 0; i < outcome.file.runs.size(); ++i) {
      const ImportedRun& run = outcome.file.runs[i];
      if (!run.has_figures()) continue;
      records.push_back(record_of(outcome.file, run, i, study));
      places.push_back(&outcome.stored[i]);
    }
  }
  if (records.empty()) return;
  const std::vector<store::AddedImport> added = store::add_imports(store_path, records, replace);
  for (std::size_t k = 0; k < added.size(); ++k) *places[k] = added[k];
}

ImportTotals import_totals(const std::vector<FileOutcome>& outcomes) {
  ImportTotals totals;
  for (const FileOutcome& outcome : outcomes) {
    for (const store::AddedImport& run : outcome.stored) {
      totals.added += run.fresh;
      totals.known += run.run != 0 && !run.fresh;
    }
  }
  return totals;
}

nlohmann::json import_sent_file(const std::string& store_path, const std::string& name,
                                const std::string& path) {
  std::vector<FileOutcome> outcomes(1);
  outcomes[0].file = Importer({}).read(path);
  outcomes[0].file.path = name;
  require_figures(outcomes[0].file);
  store_outcomes(store_path, "", false, outcomes);
  const ImportTotals totals = import_totals(outcomes);
  return {{"added", totals.added}, {"known", totals.known}, {"file", summary_json(outcomes[0])}};
}

nlohmann::json explain_sent_file(const std::string& name, const std::string& path) {
  constexpr std::size_t kShownLines = 500;
  ImportOptions options;
  options.explain = true;
  FileOutcome outcome;
  outcome.file = Importer(options).read(path);
  outcome.file.path = name;
  require_figures(outcome.file);
  nlohmann::json lines = nlohmann::json::array();
  for (const ExplainedLine& line : outcome.file.explained) {
    if (lines.size() == kShownLines) break;
    lines.push_back(
        {{"line", line.number}, {"part", line.part}, {"words", line.words}, {"text", line.text}});
  }
  const std::size_t hidden = outcome.file.explained.size() - lines.size();
  return {{"summary", summary_text(outcome)}, {"lines", std::move(lines)}, {"hidden", hidden}};
}

}  // namespace lockstep::import
