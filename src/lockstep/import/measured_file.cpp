#include "lockstep/import/measured_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "lockstep/base/error.h"
#include "lockstep/import/import_summary.h"
#include "lockstep/import/run_record.h"
#include "lockstep/import/scan/csv_rows.h"

namespace lockstep::import {
namespace {

/// By its first line; other files that name a metric or a value are better refused by the reader of
/// the table, which names the columns.
bool is_measurements_table(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return true;  // which says what it is
  std::ifstream in(path, std::ios::binary);
  std::string first;
  std::getline(in, first);
  std::vector<std::string> header = csv_header(first);
  return std::any_of(header.begin(), header.end(), [](std::string& name) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return name == "metric" || name == "value";
  });
}

}  // namespace

MeasurementsTable read_measured_file(const std::string& path, BadRow bad_row) {
  if (is_measurements_table(path)) return read_measurements_file(path, bad_row);
  const ImportedFile file = Importer({}).read(path);
  MeasurementsTable table;
  table.from_runs = true;
  for (std::size_t i = 0; i < file.runs.size(); ++i) {
    for (record::Measurement& row : to_record(file.runs[i], file.path).measurements) {
      row.run = fmt::format("{}", i + 1);
      table.rows.push_back(std::move(row));
    }
  }
  if (table.rows.empty()) {
    throw Error(ErrorKind::kData, fmt::format("{} contains no figures of a run", path),
                fmt::format("lockstep import --explain {} shows what was read", path));
  }
  bool names_settings = false;
  for (const Remark& remark : remarks_on(file)) {
    if (remark.kind == "missing") continue;  // what is needed is named where it is needed
    names_settings = names_settings || remark.text.find("--set ") != std::string::npos;
    table.notices.push_back(remark.text);
  }
  if (names_settings) {
    table.notices.push_back(
        fmt::format("--set is an option of lockstep import {}, which stores the runs", path));
  }
  return table;
}

}  // namespace lockstep::import
