#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "command.h"
#include "lockstep/import/measurements_table.h"
#include "lockstep/report/study_tables.h"
#include "output_file.h"
#include "terminal.h"

namespace lockstep::cli {
namespace {

struct AuditCommandOptions {
  std::string table;
  std::int64_t parameters = 0;
  std::string format = "text";
  std::string output;
};

void run_audit(const GlobalOptions& global, const AuditCommandOptions& options) {
  const report::Format format =
      global.json ? report::Format::kJson : report::format_from_name(options.format);
  const import::MeasurementsTable table = import::read_measurements_file(options.table);
  for (const std::string& notice : table.notices) fmt::print(stderr, "note: {}\n", notice);
  analyze::AuditOptions audit_options;
  if (options.parameters > 0) audit_options.parameters = options.parameters;
  const analyze::Audit audit = analyze::audit(table.rows, audit_options);
  if (audit.findings.empty() && format == report::Format::kText) {
    write_result(options.output, [&](std::ostream& out) {
      out << options.table << " has no reported_* figures to check\n";
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
  CLI::App& audit = add_command(
      app, "audit",
      "Recomputes every reported_* figure of a measurements table and says which do not follow.",
      {"lockstep audit examples/studies/e-data-parallel-sweep.csv",
       "lockstep audit table.csv --parameters 11173962 --json"});
  audit.add_option("table", options->table, "Measurements table with reported_* rows")
      ->required()
      ->type_name("FILE");
  audit
      .add_option("--parameters", options->parameters,
                  "Parameters of the model, where the table does not tell")
      ->type_name("COUNT")
      ->check(CLI::PositiveNumber);
  audit.add_option("--format", options->format, "text, markdown, csv, json or latex")
      ->type_name("FORMAT")
      ->capture_default_str();
  audit.add_option("-o,--output", options->output, "File to write; stdout without")
      ->type_name("FILE");
  set_action(audit, [&global, options] { run_audit(global, *options); });
}

}  // namespace lockstep::cli
