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
  store_outcomes(store_path, "", false, outcomes);
  const ImportTotals totals = import_totals(outcomes);
  if (totals.added + totals.known == 0) {
    throw Error(ErrorKind::kUsage, fmt::format("{} contains no figures of a run", name),
                "lockstep import --list-formats shows the supported formats");
  }
  return {{"added", totals.added}, {"known", totals.known}, {"file", summary_json(outcomes[0])}};
}

}  // namespace lockstep::import
