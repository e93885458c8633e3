#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "command_line/command.h"
#include "lockstep/base/error.h"
#include "lockstep/base/system/output_file.h"
#include "lockstep/base/terminal/terminal.h"
#include "lockstep/collect/stored_runs.h"
#include "lockstep/import/measured_file.h"
#include "lockstep/report/study_tables.h"

namespace lockstep::cli {
namespace {

struct AuditCommandOptions {
  std::string table;
  std::string study;
  std::int64_t parameters = 0;
  std::string format = "text";
  std::string output;
};

/// The rows of the table, or of the store's runs without one.
std::vector<record::Measurement> audited_rows(const GlobalOptions& global,
                                              const AuditCommandOptions& options) {
  if (options.table.empty()) {
    store::Store store(global.store_path);
    return collect::measured_runs(store, {options.study, {}}).rows;
  }
  if (!options.study.empty()) {
    throw Error(ErrorKind::kUsage, "--study selects runs of the store, but a table was given",
                "omit one of the two");
  }
  import::MeasurementsTable table = import::read_measured_file(options.table);
  for (const std::string& notice : table.notices) fmt::print(stderr, "note: {}\n", notice);
  return std::move(table.rows);
}

void run_audit(const GlobalOptions& global, const AuditCommandOptions& options) {
  const report::Format format =
      global.json ? report::Format::kJson : report::format_from_name(options.format);
  const auto rows = audited_rows(global, options);
  analyze::AuditOptions audit_options;
  if (options.parameters > 0) audit_options.parameters = options.parameters;
  const analyze::Audit audit = analyze::audit(rows, audit_options);
  if (audit.findings.empty() && format == report::Format::kText) {
    write_result(options.output, [&](std::ostream& out) {
      out << fmt::format(
          "{} has no reported_* figures to check, such as speedups that a source derived itself\n",
          options.table.empty() ? global.store_path : options.table);
    });
    return;
  }
  const bool slips = format != report::Format::kText;
  const std::size_t width = options.output.empty() ? terminal_width() : 0;
  write_result(options.output, [&](std::ostream& out) {
    out << report::render(report::audit_table(audit, slips), format, {.width = width});
  });
}

}  // namespace

void add_audit_command(CLI::App& app, const GlobalOptions& global) {
  const auto options = std::make_shared<AuditCommandOptions>();
  CLI::App& audit =
      add_command(app, "audit",
                  "Checks whether reported figures follow from the measurements. Recomputes every "
                  "reported_* figure of a table or of the stored runs.",
                  {"lockstep audit examples/studies/e-data-parallel-sweep.csv",
                   "lockstep import paper.csv --study paper && lockstep audit --study paper",
                   "lockstep audit table.csv --parameters 11173962 --json"});
  audit
      .add_option(
          "table", options->table,
          "Measurements table with reported_* rows, or any file that import reads; default: the "
          "store")
      ->type_name("FILE");
  audit.add_option("--study", options->study, "Only runs of this study of the store")
      ->type_name("NAME");
  audit
      .add_option("--parameters", options->parameters,
                  "Parameter count of the model, if the table does not contain it")
      ->type_name("COUNT")
      ->check(CLI::PositiveNumber);
  audit.add_option("--format", options->format, "text, markdown, csv, json or latex")
      ->type_name("FORMAT")
      ->capture_default_str();
  audit.add_option("-o,--output", options->output, "File to write (default: stdout)")
      ->type_name("FILE");
  set_action(audit, [&global, options] { run_audit(global, *options); });
}

}  // namespace lockstep::cli
