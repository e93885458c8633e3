#include "lockstep/report/measurements_csv.h"

#include <fmt/format.h>

#include <set>

#include "lockstep/base/csv.h"

namespace lockstep::report {

std::string measurements_csv(std::span<const record::Measurement> rows) {
  std::set<std::string> notes;
  for (const record::Measurement& row : rows) {
    for (const auto& [name, value] : row.notes) notes.insert(name);
  }
  std::string out;
  for (const std::string& name : record::measurement_columns()) {
    out += (out.empty() ? "" : ",") + name;
  }
  for (const std::string& name : notes) out += "," + csv_field(name);
  out += "\n";
  const auto number = [](const std::optional<std::int64_t>& value) {
    return value ? std::to_string(*value) : "";
  };
  for (const record::Measurement& row : rows) {
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}", csv_field(row.model),
                       csv_field(row.dataset), csv_field(row.device), number(row.nodes),
                       number(row.workers), number(row.batch_per_worker), number(row.global_batch),
                       number(row.examples), number(row.epochs), csv_field(row.metric), row.value,
                       csv_field(row.unit));
    for (const std::string& name : notes) {
      const auto found = row.notes.find(name);
      out += "," + (found == row.notes.end() ? "" : csv_field(found->second));
    }
    out += "\n";
  }
  return out;
}

}  // namespace lockstep::report
