#include "lockstep/store/schema.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "lockstep/base/error.h"

namespace lockstep::store {
namespace {

/// Times of steps are whole nanoseconds: SQLite keeps small integers in 1 to 4 bytes, where a real
/// always takes 8.
constexpr std::string_view kVersion1 = R"sql(
CREATE TABLE runs(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  study TEXT NOT NULL, cell TEXT NOT NULL, repeat INTEGER NOT NULL,
  recipe TEXT NOT NULL, dataset TEXT NOT NULL, device TEXT NOT NULL, strategy TEXT NOT NULL,
  workers INTEGER NOT NULL, batch_per_worker INTEGER NOT NULL, global_batch INTEGER NOT NULL,
  status TEXT NOT NULL, started_wall_ns INTEGER NOT NULL,
  ended_wall_ns INTEGER, total_s REAL, peak_memory_bytes INTEGER, parameters_digest TEXT,
  steps_per_epoch INTEGER NOT NULL, first_epoch INTEGER NOT NULL,
  spec TEXT NOT NULL, machine TEXT NOT NULL, build TEXT NOT NULL);
CREATE INDEX runs_of_a_study ON runs(study, cell, repeat);

CREATE TABLE progress(
  run_id INTEGER PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE,
  epoch INTEGER NOT NULL, step INTEGER NOT NULL, steps_per_epoch INTEGER NOT NULL,
  examples_per_s REAL, loss REAL);

CREATE TABLE epochs(
  run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, epoch INTEGER NOT NULL,
  train_loss REAL, train_accuracy REAL, val_loss REAL, val_accuracy REAL, learning_rate REAL,
  examples INTEGER NOT NULL, train_s REAL, val_s REAL, examples_per_s REAL,
  PRIMARY KEY(run_id, epoch)) WITHOUT ROWID;

CREATE TABLE steps(
  run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  step INTEGER NOT NULL, rank INTEGER NOT NULL, epoch INTEGER NOT NULL, examples INTEGER NOT NULL,
  start_ns INTEGER NOT NULL, ready_after_ns INTEGER, total_ns INTEGER NOT NULL,
  input_wait_ns INTEGER NOT NULL, host_to_device_ns INTEGER NOT NULL, forward_ns INTEGER NOT NULL,
  backward_ns INTEGER NOT NULL, comm_wait_ns INTEGER NOT NULL, comm_transfer_ns INTEGER NOT NULL,
  optimizer_ns INTEGER NOT NULL, other_ns INTEGER NOT NULL,
  PRIMARY KEY(run_id, step, rank)) WITHOUT ROWID;

CREATE TABLE checkpoints(
  id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  path TEXT NOT NULL, epoch INTEGER NOT NULL, step INTEGER NOT NULL);
CREATE INDEX checkpoints_of_a_run ON checkpoints(run_id);

CREATE TABLE worker_errors(
  id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  rank INTEGER NOT NULL, kind TEXT NOT NULL, message TEXT NOT NULL, hint TEXT NOT NULL);
CREATE INDEX worker_errors_of_a_run ON worker_errors(run_id);
)sql";

/// Runs that other tools made: the file each came from, known by its content, and its figures as
/// rows of the measurements table. `facts` and `configuration` are JSON.
constexpr std::string_view kVersion2 = R"sql(
CREATE TABLE imports(
  run_id INTEGER PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE,
  digest TEXT NOT NULL, part TEXT NOT NULL, path TEXT NOT NULL, format TEXT NOT NULL,
  facts TEXT NOT NULL, UNIQUE(digest, part));

CREATE TABLE measurements(
  run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, position INTEGER NOT NULL,
  metric TEXT NOT NULL, value REAL, unit TEXT NOT NULL, configuration TEXT NOT NULL,
  PRIMARY KEY(run_id, position)) WITHOUT ROWID;
)sql";

/// The gradient noise scale of an epoch, and how busy the ranks were.
constexpr std::string_view kVersion3 = R"sql(
ALTER TABLE epochs ADD COLUMN noise_scale REAL;
ALTER TABLE epochs ADD COLUMN noise_scale_low REAL;
ALTER TABLE epochs ADD COLUMN noise_scale_high REAL;

CREATE TABLE utilisation(
  id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  rank INTEGER NOT NULL, epoch INTEGER NOT NULL, at_s REAL NOT NULL, seconds REAL NOT NULL,
  cpu_cores REAL, resident_bytes INTEGER NOT NULL, gpu REAL, gpu_memory_bytes INTEGER NOT NULL);
CREATE INDEX utilisation_of_a_run ON utilisation(run_id);
)sql";

/// What machines were measured to do (record/calibration.h), as JSON.
constexpr std::string_view kVersion4 = R"sql(
CREATE TABLE calibrations(
  id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, measured_wall_ns INTEGER NOT NULL,
  calibration TEXT NOT NULL);
)sql";

/// What only some recipes measure in an epoch: a JSON object of numbers.
constexpr std::string_view kVersion5 = R"sql(
ALTER TABLE epochs ADD COLUMN metrics TEXT NOT NULL DEFAULT '{}';
)sql";

/// What a study under way expects of itself (store/study_outlook.h).
constexpr std::string_view kVersion6 = R"sql(
CREATE TABLE study_outlooks(
  study TEXT PRIMARY KEY, planned INTEGER NOT NULL, at_most INTEGER NOT NULL, run_s REAL,
  later_s REAL) WITHOUT ROWID;
)sql";

/// Steps of long runs summed up (store/step_digests.h).
constexpr std::string_view kVersion7 = R"sql(
CREATE TABLE step_digests(
  run_id INTEGER PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE,
  form TEXT NOT NULL, digest TEXT NOT NULL);
)sql";

/// The course of runs within their epochs (store/run_curve.h).
constexpr std::string_view kVersion8 = R"sql(
CREATE TABLE curves(
  run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, position INTEGER NOT NULL,
  epochs REAL NOT NULL, loss REAL, examples_per_s REAL,
  PRIMARY KEY(run_id, position)) WITHOUT ROWID;
)sql";

/// Energy of runs, and where it was read or why it is unknown.
constexpr std::string_view kVersion9 = R"sql(
ALTER TABLE runs ADD COLUMN energy_j REAL;
ALTER TABLE runs ADD COLUMN energy_source TEXT NOT NULL DEFAULT '';
)sql";

/// What other programs used of the CPU time during a run.
constexpr std::string_view kVersion10 = R"sql(
ALTER TABLE runs ADD COLUMN others_cpu REAL;
)sql";

constexpr std::array kMigrations{kVersion1, kVersion2, kVersion3, kVersion4, kVersion5,
                                 kVersion6, kVersion7, kVersion8, kVersion9, kVersion10};

/// SQLite notices a file that lost whole pages but not one that lost a part of a page. While a log
/// is pending the file may rightly lag behind. Only the size is looked at: opening the file here
/// would drop the locks that other connections of this process hold on it.
void require_whole_pages(Database& database) {
  std::error_code problem;
  const auto size = std::filesystem::file_size(database.path(), problem);
  if (problem || size == 0 || database.log_pending()) return;
  const auto page = static_cast<std::uintmax_t>(database.integer("PRAGMA page_size"));
  if (size >= page && size % page == 0) return;
  throw Error(
      ErrorKind::kData,
      fmt::format("the store {} is truncated: {} bytes are not a multiple of its page size of {}",
                  database.path(), size, page),
      "restore a copy, or choose another with --store");
}

/// The version of the file; 0 for an empty one. Throws when the file is not ours.
std::int64_t checked_version(Database& database, std::size_t newest) {
  require_whole_pages(database);
  // Owner last: another process may migrate between these reads, and what was seen before it did
  // must not look like that of another program.
  const std::int64_t objects = database.integer("SELECT count(*) FROM sqlite_master");
  const std::int64_t version = database.integer("PRAGMA user_version");
  const std::int64_t owner = database.integer("PRAGMA application_id");
  if (owner != kApplicationId && (objects > 0 || version != 0 || owner != 0)) {
    throw Error(ErrorKind::kData,
                fmt::format("{} is an SQLite database of another program", database.path()),
                "choose another file with --store; this one was not changed");
  }
  if (version > static_cast<std::int64_t>(newest)) {
    throw Error(
        ErrorKind::kData,
        fmt::format("the store {} has version {}, newer than the {} that this lockstep supports",
                    database.path(), version, newest),
        "use the lockstep that wrote it or a newer one, or choose another with --store");
  }
  return version;
}

}  // namespace

std::span<const std::string_view> migrations() {
  return kMigrations;
}

void migrate(Database& database, std::span<const std::string_view> steps) {
  const auto newest = static_cast<std::int64_t>(steps.size());
  if (checked_version(database, steps.size()) == newest) return;
  Transaction transaction(database);
  // Looked at again: another process may have migrated while this one waited for the lock.
  std::int64_t version = checked_version(database, steps.size());
  for (; version < newest; ++version) {
    database.execute(std::string(steps[static_cast<std::size_t>(version)]));
  }
  database.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, newest));
  transaction.commit();
}

bool is_current(Database& database) {
  return checked_version(database, migrations().size()) ==
         static_cast<std::int64_t>(migrations().size());
}

}  // namespace lockstep::store
