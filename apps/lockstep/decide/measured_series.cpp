#include "decide/measured_series.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Option.hpp>
#include <algorithm>

#include "command_line/stored_study.h"
#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/import/measured_file.h"
#include "lockstep/record/measurement_columns.h"

namespace lockstep::cli {
namespace {

/// A bad value is named and left out, so that the other series still get an answer.
std::vector<record::Measurement> table_rows(const MeasuredSource& source) {
  constexpr std::size_t kMostNamed = 5;
  import::MeasurementsTable table =
      import::read_measured_file(source.table, import::BadRow::kLeaveOut);
  if (table.from_runs) {
    for (const std::string& notice : table.notices) fmt::print(stderr, "note: {}\n", notice);
  }
  for (std::size_t i = 0; i < std::min(table.left_out.size(), kMostNamed); ++i) {
    fmt::print(stderr, "warning: {}; the row is left out\n", table.left_out[i]);
  }
  if (table.left_out.size() > kMostNamed) {
    fmt::print(stderr, "warning: {} more rows are left out for similar reasons\n",
               table.left_out.size() - kMostNamed);
  }
  const auto unnamed = [&](const record::Measurement& row) {
    return record::column_text(row, source.series_column).empty();
  };
  if (source.series_column.empty() || std::all_of(table.rows.begin(), table.rows.end(), unnamed)) {
    return std::move(table.rows);
  }
  if (const std::size_t count = std::erase_if(table.rows, unnamed); count > 0) {
    fmt::print(stderr, "warning: {} no value in column '{}', left out\n",
               counted(static_cast<std::int64_t>(count), "row has", "rows have"),
               source.series_column);
  }
  return std::move(table.rows);
}

}  // namespace

void add_source_options(CLI::App& command, MeasuredSource& source) {
  source.command = command.get_name();
  const auto add = [&](const char* name, std::string& field, const char* type, const char* help) {
    return command.add_option(name, field, help)->type_name(type)->group("Measurements");
  };
  add("--from", source.table, "FILE",
      "Measurements table, or any file that import reads; default: the store");
  CLI::Option* study = add("--study", source.study, "NAME", "Only runs of this study of the store");
  command.add_option("study", source.study, "The same as --study")->excludes(study);
  add("--model", source.model, "NAME", "Only measurements of this model or recipe");
  add("--series-column", source.series_column, "NAME", "Column of the table that names the series");
}

void add_job_options(CLI::App& command, std::int64_t& epochs, std::int64_t& examples) {
  const auto add = [&](const char* name, std::int64_t& field, const char* help) {
    command.add_option(name, field, help)
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{1}, kMostExamples))
        ->group("Job");
  };
  add("--epochs", epochs, "Epochs of the whole run");
  add("--examples", examples, "Examples of one epoch");
}

MeasuredRows measured_rows(const MeasuredSource& source) {
  MeasuredRows measured;
  if (!source.table.empty() && !source.study.empty()) {
    throw Error(ErrorKind::kUsage, "--study selects runs of the store, but --from reads a table",
                "omit --study or --from");
  }
  if (source.table.empty()) {
    collect::StoredRuns found = stored_study(source.store_path, source.study, source.command);
    measured.rooms = collect::host_rooms(found.runs);
    measured.rows = std::move(found.rows);
  } else {
    measured.rows = table_rows(source);
  }
  if (source.model.empty()) return measured;
  std::erase_if(measured.rows,
                [&](const record::Measurement& row) { return row.model != source.model; });
  if (measured.rows.empty()) {
    throw Error(ErrorKind::kData, "no measurements of model '" + source.model + "'",
                "choose a measured model");
  }
  return measured;
}

std::vector<predict::TableSeries> measured_series(const MeasuredSource& source) {
  return predict::job_series(measured_rows(source).rows, source.from(), source.series_column);
}

}  // namespace lockstep::cli
