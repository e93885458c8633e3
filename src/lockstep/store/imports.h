#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lockstep/record/event.h"
#include "lockstep/record/measurement.h"
#include "lockstep/store/store.h"

namespace lockstep::store {

/// Where an imported run came from.
struct ImportSource {
  std::string digest;  ///< of the file's content
  std::string part;    ///< which run of the file; empty for the only one
  std::string path;
  std::string format;
  std::string facts = "{}";  ///< JSON: what the reader found beyond the record
};

/// A run that another tool made, whole.
struct ImportedRecord {
  ImportSource source;
  RunLabel label;
  record::RunStarted started;
  std::vector<record::EpochResult> epochs;
  record::StepBlock steps;
  std::vector<record::WorkerError> errors;
  record::RunEnded ended;
  std::vector<record::Measurement> measurements;
};

struct AddedImport {
  std::int64_t run = 0;
  bool fresh = false;       ///< false: the run was there already
  bool moved = false;       ///< it was there outside of any study, and is now of the one asked for
  std::string other_study;  ///< where it is, when another one was asked for
};

/// Adds the runs in one transaction, all or none; makes the store if there is none. A run whose
/// digest and part are known is left as it is, unless it is of no study and is now to be of one.
/// With `replace` it is deleted and added again. Throws kData as RunWriter does.
std::vector<AddedImport> add_imports(const std::string& store_path,
                                     std::span<const ImportedRecord> runs, bool replace = false);

/// Completes a run that a RunWriter began and that a foreign program trained: `run.started`
/// replaces its facts and `run.epochs` its epochs, its label stays, and steps, source and
/// measurements are added, all or none. The writer ends the run afterwards. Throws kData as
/// RunWriter does.
void complete_import(const std::string& store_path, std::int64_t id, const ImportedRecord& run);

/// Replaces the facts of a run that a RunWriter began: what was learnt of it later. Its epochs so
/// far are removed; the writer adds the final ones. Throws kData as RunWriter does.
void update_facts(const std::string& store_path, std::int64_t id,
                  const record::RunStarted& started);

/// Where a run came from; nothing for a run of our own.
std::optional<ImportSource> import_source(const std::string& store_path, std::int64_t run);

}  // namespace lockstep::store
