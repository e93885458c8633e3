#include "lockstep/store/study_outlook.h"

#include <filesystem>

#include "lockstep/store/connection.h"

namespace lockstep::store {
namespace {

void bind(Statement& statement, int parameter, const std::optional<double>& seconds) {
  if (seconds) {
    statement.bind(parameter, *seconds);
  } else {
    statement.bind_null(parameter);
  }
}

std::optional<double> seconds(const Statement& rows, int column) {
  return rows.is_null(column) ? std::nullopt : std::optional(rows.real(column));
}

}  // namespace

void keep_study_outlook(const std::string& store_path, const StudyOutlook& outlook) {
  Database database = open_for_writing(store_path);
  Transaction transaction(database);
  Statement insert = database.prepare(
      "INSERT OR REPLACE INTO study_outlooks(study, planned, at_most, run_s, later_s) "
      "VALUES(?,?,?,?,?)");
  insert.bind(1, outlook.study).bind(2, outlook.planned);
  insert.bind(3, std::int64_t{outlook.at_most});
  bind(insert, 4, outlook.run_s);
  bind(insert, 5, outlook.later_s);
  insert.execute();
  transaction.commit();
}

std::vector<StudyOutlook> study_outlooks(const std::string& store_path) {
  std::vector<StudyOutlook> found;
  std::error_code ignored;
  if (!std::filesystem::exists(store_path, ignored)) return found;
  Database database = open_for_reading(store_path);
  Statement rows =
      database.prepare("SELECT study, planned, at_most, run_s, later_s FROM study_outlooks");
  while (rows.step()) {
    found.push_back(
        {rows.text(0), rows.integer(1), rows.integer(2) != 0, seconds(rows, 3), seconds(rows, 4)});
  }
  return found;
}

}  // namespace lockstep::store
