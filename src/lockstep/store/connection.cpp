#include "lockstep/store/connection.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "lockstep/base/error.h"
#include "lockstep/store/schema.h"

namespace lockstep::store {
namespace {

/// SQLite does not wait for other processes when the journal mode changes, so this does.
void use_write_ahead_log(Database& database) {
  using std::chrono::milliseconds;
  for (int waited_ms = 0;; waited_ms += 20) {
    try {
      database.execute("PRAGMA journal_mode = WAL");
      return;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kEnvironment || waited_ms >= kBusyTimeoutMs) throw;
      std::this_thread::sleep_for(milliseconds(20));
    }
  }
}

Database open_writable(const std::string& path, Database::Access access) {
  Database database(path, access);
  migrate(database);
  use_write_ahead_log(database);
  // In write-ahead mode NORMAL loses nothing when a process dies; only a power cut may take the
  // last commits, and never the file.
  database.execute("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON");
  return database;
}

void require_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return;
  throw Error(ErrorKind::kData, fmt::format("the store {} does not exist", path),
              "train or import a run first, or choose another store with --store");
}

}  // namespace

Database open_for_writing(const std::string& path) {
  return open_writable(path, Database::Access::kCreate);
}

Database open_for_changing(const std::string& path) {
  require_file(path);
  return open_writable(path, Database::Access::kWrite);
}

Database open_for_reading(const std::string& path) {
  require_file(path);
  Database database(path, Database::Access::kRead);
  if (is_current(database)) return database;
  return open_for_changing(path);
}

}  // namespace lockstep::store
