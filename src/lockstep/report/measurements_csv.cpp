#include "lockstep/report/measurements_csv.h"

#include <algorithm>
#include <set>
#include <vector>

#include "lockstep/base/text/csv.h"
#include "lockstep/record/measurement_columns.h"

namespace lockstep::report {
namespace {

using record::Measurement;

/// The columns that are always written, those that some row has, then the notes by name.
std::vector<std::string> written_columns(std::span<const Measurement> rows) {
  std::vector<std::string> names;
  for (const record::MeasurementColumn& column : record::measurement_columns()) {
    const bool used = column.role == record::ColumnRole::kAlways ||
                      std::any_of(rows.begin(), rows.end(), [&](const Measurement& row) {
                        return !column.text(row).empty();
                      });
    if (used) names.emplace_back(column.name);
  }
  std::set<std::string> notes;
  for (const Measurement& row : rows) {
    for (const auto& [name, value] : row.notes) notes.insert(name);
  }
  for (const std::string& name : notes) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace

std::string measurements_csv(std::span<const Measurement> rows) {
  const std::vector<std::string> columns = written_columns(rows);
  std::string out;
  for (const std::string& name : columns) out += (out.empty() ? "" : ",") + csv_field(name);
  out += "\n";
  for (const Measurement& row : rows) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      out += (i == 0 ? "" : ",") + csv_field(record::column_text(row, columns[i]));
    }
    out += "\n";
  }
  return out;
}

}  // namespace lockstep::report
