#include "lockstep/store/imports.h"

#include "lockstep/store/connection.h"
#include "lockstep/store/measurement_rows.h"
#include "lockstep/store/run_rows.h"

namespace lockstep::store {
namespace {

struct KnownRun {
  std::int64_t id = 0;  ///< 0 for none
  std::string study;
};

KnownRun known_run(Database& database, const ImportSource& source) {
  Statement find = database.prepare(
      "SELECT runs.id, runs.study FROM imports JOIN runs ON runs.id = imports.run_id"
      " WHERE digest = ? AND part = ?");
  if (!find.bind(1, source.digest).bind(2, source.part).step()) return {};
  return {find.integer(0), std::string(find.text(1))};
}

/// Source and figures of the run.
void insert_import(Database& database, std::int64_t id, const ImportedRecord& run) {
  const ImportSource& source = run.source;
  Statement insert = database.prepare(
      "INSERT INTO imports(run_id, digest, part, path, format, facts) VALUES(?,?,?,?,?,?)");
  insert.bind(1, id).bind(2, source.digest).bind(3, source.part).bind(4, source.path);
  insert.bind(5, source.format).bind(6, source.facts).execute();
  Statement row = database.prepare(
      "INSERT INTO measurements(run_id, position, metric, value, unit, configuration)"
      " VALUES(?,?,?,?,?,?)");
  std::int64_t position = 0;
  for (const record::Measurement& measured : run.measurements) {
    row.bind(1, id).bind(2, position++).bind(3, measured.metric).bind(4, measured.value);
    row.bind(5, measured.unit).bind(6, configuration_text(measured)).execute();
  }
}

/// Those that were written while the run went on, from what was known then.
void forget_epochs(Database& database, std::int64_t id) {
  Statement forget = database.prepare("DELETE FROM epochs WHERE run_id = ?");
  forget.bind(1, id).execute();
}

std::int64_t add(Database& database, const ImportedRecord& run, Statement& steps) {
  const std::int64_t id = insert_run(database, run.label, run.started);
  for (const record::EpochResult& epoch : run.epochs) insert_epoch(database, id, epoch);
  insert_steps(steps, id, run.steps);
  for (const record::WorkerError& error : run.errors) insert_error(database, id, error);
  end_run(database, id, run.ended);
  insert_import(database, id, run);
  return id;
}

}  // namespace

std::vector<AddedImport> add_imports(const std::string& store_path,
                                     std::span<const ImportedRecord> runs, bool replace) {
  Database database = open_for_writing(store_path);
  Transaction transaction(database);
  Statement steps = database.prepare(kInsertStep);
  std::vector<AddedImport> added;
  for (const ImportedRecord& run : runs) {
    const KnownRun known = known_run(database, run.source);
    const bool elsewhere =
        known.id != 0 && !run.label.study.empty() && known.study != run.label.study;
    const bool moves = elsewhere && known.study.empty() && !replace;
    if (known.id != 0 && !replace && !moves) {
      added.push_back({known.id, false, false, elsewhere ? known.study : ""});
      continue;
    }
    if (known.id != 0)
      database.prepare("DELETE FROM runs WHERE id = ?").bind(1, known.id).execute();
    added.push_back({add(database, run, steps), !moves, moves, ""});
  }
  transaction.commit();
  return added;
}

void complete_import(const std::string& store_path, std::int64_t id, const ImportedRecord& run) {
  Database database = open_for_writing(store_path);
  Transaction transaction(database);
  update_run(database, id, run.started);
  forget_epochs(database, id);
  for (const record::EpochResult& epoch : run.epochs) insert_epoch(database, id, epoch);
  Statement steps = database.prepare(kInsertStep);
  insert_steps(steps, id, run.steps);
  insert_import(database, id, run);
  transaction.commit();
}

void update_facts(const std::string& store_path, std::int64_t id,
                  const record::RunStarted& started) {
  Database database = open_for_writing(store_path);
  Transaction transaction(database);
  update_run(database, id, started);
  forget_epochs(database, id);
  transaction.commit();
}

std::optional<ImportSource> import_source(const std::string& store_path, std::int64_t run) {
  Database database = open_for_reading(store_path);
  Statement row =
      database.prepare("SELECT digest, part, path, format, facts FROM imports WHERE run_id = ?");
  if (!row.bind(1, run).step()) return std::nullopt;
  return ImportSource{row.text(0), row.text(1), row.text(2), row.text(3), row.text(4)};
}

}  // namespace lockstep::store
