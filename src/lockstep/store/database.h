#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace lockstep::store {

/// Longest wait for another process that writes to the same store.
inline constexpr int kBusyTimeoutMs = 10'000;

/// A prepared statement. Parameters count from 1, columns from 0, as in SQLite.
class Statement {
 public:
  Statement(sqlite3* database, std::string path, std::string_view sql);

  Statement& bind(int parameter, std::int64_t value);
  /// NaN is stored as NULL, and read back as NaN.
  Statement& bind(int parameter, double value);
  Statement& bind(int parameter, std::string_view text);
  Statement& bind_null(int parameter);

  /// Runs to the next row; false when there is none.
  bool step();
  /// Runs a statement that gives no rows and makes it ready for the next use.
  void execute();
  void reset();

  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  bool is_null(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  void check(int code) const;

  sqlite3* database_;
  std::string path_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// An open SQLite file. Every failure is an Error that names the file. Not thread-safe.
class Database {
 public:
  enum class Access {
    kCreate,  ///< read and write; a missing file is made
    kWrite,   ///< read and write; the file must exist
    kRead,    ///< as little writing as SQLite allows: works on read-only media
  };

  Database(std::string path, Access access);

  const std::string& path() const { return path_; }
  void execute(const std::string& sql);
  Statement prepare(std::string_view sql) { return {handle_.get(), path_, sql}; }
  /// The single integer that `sql` gives.
  std::int64_t integer(std::string_view sql);
  /// Whether commits wait in the write-ahead log to be merged into the file.
  bool log_pending() const;
  std::int64_t last_row_id() const;
  std::int64_t changed_rows() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  void open(const std::string& name, int flags);

  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

/// BEGIN IMMEDIATE on construction; rolled back unless committed.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace lockstep::store
