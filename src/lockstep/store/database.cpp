#include "lockstep/store/database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <limits>

#include "lockstep/base/error.h"

namespace lockstep::store {
namespace {

/// Why a file cannot be created in the folder of `path`; empty where nothing prevents it.
std::string folder_problem(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  std::error_code unknown;
  if (!std::filesystem::is_directory(folder, unknown)) return "its folder does not exist";
  return ::access(folder.c_str(), W_OK) != 0 ? "its folder is not writable" : "";
}

/// SQLite's result code as one of our errors. Everything committed before it stays in the file.
Error store_error(int code, sqlite3* database, const std::string& path) {
  const std::string detail = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  const int system = database != nullptr ? sqlite3_system_errno(database) : 0;
  const std::string reason = system != 0 ? std::strerror(system) : detail;
  const std::string kept = "earlier records are kept";
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) {
    return {ErrorKind::kData, fmt::format("the store {} is a folder", path),
            fmt::format("name a file: --store {}",
                        (std::filesystem::path(path) / "lockstep.db").string())};
  }
  switch (code & 0xff) {
    case SQLITE_FULL:
      return {ErrorKind::kData, fmt::format("cannot write to the store {}: the disk is full", path),
              "free some space or choose a store elsewhere with --store; " + kept};
    case SQLITE_IOERR:
      return {ErrorKind::kData, fmt::format("cannot read or write the store {}: {}", path, reason),
              "check the disk and the limits on file sizes; " + kept};
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return {ErrorKind::kData, fmt::format("the store {} is read-only", path),
              "grant write permission on the file and its folder, or choose another with --store"};
    case SQLITE_CANTOPEN: {
      const std::string problem = folder_problem(path);
      return {ErrorKind::kData,
              fmt::format("cannot open the store {}: {}", path, problem.empty() ? reason : problem),
              "check that its folder exists and is writable, or choose another with --store"};
    }
    case SQLITE_NOTADB:
      return {ErrorKind::kData,
              fmt::format("{} is not a lockstep store (not an SQLite file)", path),
              "choose another file with --store; this one was not changed"};
    case SQLITE_CORRUPT:
    // Our own statements are right for our own schema, so these too mean that the file is not.
    case SQLITE_ERROR:
    case SQLITE_SCHEMA:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:
      return {ErrorKind::kData,
              fmt::format("the store {} is damaged or truncated: {}", path, detail),
              "restore a copy, or salvage it with: sqlite3 " + path + " .recover"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorKind::kEnvironment,
              fmt::format("another process has locked the store {} for {} s", path,
                          kBusyTimeoutMs / 1000),
              "try again when it is done"};
    default:
      return {ErrorKind::kInternal, fmt::format("store {}: {}", path, detail)};
  }
}

std::string as_uri(const std::string& path, const char* query) {
  std::string uri = "file:";
  for (char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri + query;
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(sqlite3* database, std::string path, std::string_view sql)
    : database_(database), path_(std::move(path)) {
  sqlite3_stmt* statement = nullptr;
  check(
      sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &statement, nullptr));
  statement_.reset(statement);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) throw store_error(code, database_, path_);
}

Statement& Statement::bind(int parameter, std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), parameter, value));
  return *this;
}

Statement& Statement::bind(int parameter, double value) {
  check(sqlite3_bind_double(statement_.get(), parameter, value));
  return *this;
}

Statement& Statement::bind(int parameter, std::string_view text) {
  // SQLite takes a null pointer, which an empty view may have, for NULL.
  const char* characters = text.data() != nullptr ? text.data() : "";
  check(sqlite3_bind_text64(statement_.get(), parameter, characters, text.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind_null(int parameter) {
  check(sqlite3_bind_null(statement_.get(), parameter));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  const Error error = store_error(code, database_, path_);
  sqlite3_reset(statement_.get());
  throw error;
}

void Statement::execute() {
  while (step()) {
  }
  reset();
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
  if (is_null(column)) return std::numeric_limits<double>::quiet_NaN();
  return sqlite3_column_double(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (bytes == nullptr) return "";
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

void Database::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

void Database::open(const std::string& name, int flags) {
  sqlite3* handle = nullptr;
  // One thread at a time uses a connection, so SQLite need not lock it at every column of a row.
  const int code = sqlite3_open_v2(name.c_str(), &handle,
                                   flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) throw store_error(code, handle, path_);
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
}

Database::Database(std::string path, Access access) : path_(std::move(path)) {
  // A name that begins with "file:" would be read as a URI.
  const std::string name = path_.starts_with("file:") ? "./" + path_ : path_;
  if (access != Access::kRead) {
    open(name, SQLITE_OPEN_READWRITE | (access == Access::kCreate ? SQLITE_OPEN_CREATE : 0));
    return;
  }
  // Not SQLITE_OPEN_READONLY: such a connection, closed last, leaves the write-ahead log and its
  // index beside the store. A write-protected file is opened for reading all the same.
  open(name, SQLITE_OPEN_READWRITE);
  try {
    execute("PRAGMA query_only = ON");
    integer("SELECT count(*) FROM sqlite_master");
  } catch (const Error&) {
    // The write-ahead log needs a helper file beside the store. Where its folder is read-only and
    // no log is pending, nobody can be writing either, and the file may be read as it lies.
    const int code = sqlite3_errcode(handle_.get());
    if ((code != SQLITE_CANTOPEN && code != SQLITE_READONLY) || log_pending()) throw;
    open(as_uri(name, "?immutable=1"), SQLITE_OPEN_READONLY);
  }
}

bool Database::log_pending() const {
  std::error_code missing;
  const auto size = std::filesystem::file_size(path_ + "-wal", missing);
  return !missing && size > 0;
}

void Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw store_error(code, handle_.get(), path_);
}

std::int64_t Database::integer(std::string_view sql) {
  Statement statement = prepare(sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::int64_t Database::last_row_id() const {
  return sqlite3_last_insert_rowid(handle_.get());
}

std::int64_t Database::changed_rows() const {
  return sqlite3_changes64(handle_.get());
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const Error&) {
    // A failed write may have rolled back by itself; then there is nothing left to undo.
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace lockstep::store
