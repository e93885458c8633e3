#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <memory>

#include "command_line/command.h"
#include "command_line/stored_study.h"
#include "lockstep/base/error.h"
#include "lockstep/base/system/output_file.h"
#include "lockstep/base/terminal/terminal.h"
#include "lockstep/base/text/quantities.h"
#include "lockstep/base/units.h"
#include "lockstep/collect/calibrated_device.h"
#include "lockstep/collect/calibrated_links.h"
#include "lockstep/import/measured_file.h"
#include "lockstep/report/measurements_csv.h"
#include "lockstep/report/page/html.h"
#include "lockstep/report/page/page_source.h"
#include "lockstep/report/study_report.h"
#include "lockstep/report/work_table.h"

namespace lockstep::cli {
namespace {

struct ReportOptions {
  std::string study;
  std::string table;
  std::string format = "text";
  bool csv = false;
  std::string scaling;
  std::int64_t baseline = 0;
  double link_gb_per_s = 0;
  bool definitions = false;
  std::string output;
  std::string html;
  std::vector<std::string> prices;
  double carbon = 0;
  std::string peak;
};

/// The rows to report on; what had to be interpreted or left out goes to stderr.
collect::StoredRuns measurements_for(const GlobalOptions& global, const ReportOptions& options) {
  if (!options.table.empty()) {
    import::MeasurementsTable table = import::read_measured_file(options.table);
    for (const std::string& notice : table.notices) fmt::print(stderr, "note: {}\n", notice);
    collect::StoredRuns given;
    given.rows = std::move(table.rows);
    return given;
  }
  collect::StoredRuns found = stored_study(global.store_path, options.study, "report");
  if (found.left_out > 0) {
    fmt::print(
        stderr, "note: {} left out\n",
        counted(found.left_out, "run that did not finish is", "runs that did not finish are"));
  }
  return found;
}

/// Of each device of the store's runs: what was given, else its data sheet or calibration.
std::map<std::string, double> peak_flops(const GlobalOptions& global,
                                         const ReportOptions& options) {
  std::map<std::string, double> peaks;
  if (!options.table.empty()) return peaks;
  store::Store store(global.store_path);
  for (const store::RunSummary& run : store.runs()) {
    const std::string device = report::peak_key(run.spec.device, run.spec.threads_per_worker);
    if (run.spec.flops_per_example <= 0 || device.empty() || peaks.contains(device)) continue;
    if (!options.peak.empty()) {
      peaks[device] = parse_flops(options.peak, "--peak");
    } else if (const auto known = collect::known_device(device, global.store_path)) {
      peaks[device] = known->flops;
    }
  }
  return peaks;
}

report::StudyOptions study_options(const GlobalOptions& global, const ReportOptions& options) {
  report::StudyOptions study;
  if (!options.scaling.empty()) {
    study.speedup.scaling = record::scaling_from_name(options.scaling);
    if (!study.speedup.scaling || *study.speedup.scaling == record::Scaling::kMixed) {
      throw Error(ErrorKind::kUsage, fmt::format("unknown kind of scaling '{}'", options.scaling),
                  "choose strong (global batch fixed) or weak (batch per worker fixed)");
    }
  }
  study.price_per_hour = parse_prices(options.prices);
  if (options.carbon > 0) study.carbon_g_per_kwh = options.carbon;
  study.peak_flops = peak_flops(global, options);
  if (options.baseline > 0) study.speedup.baseline_workers = options.baseline;
  if (options.link_gb_per_s > 0) {
    study.links.speeds.any = options.link_gb_per_s * 1e9;
  } else if (options.table.empty()) {
    study.links = collect::calibrated_links(global.store_path, options.study);
  }
  return study;
}

void write_html(const GlobalOptions& global, const ReportOptions& options) {
  report::PageSource source;
  if (!options.table.empty()) {
    import::MeasurementsTable table = import::read_measured_file(options.table);
    source = report::table_page(std::filesystem::path(options.table).stem().string(),
                                std::move(table.rows), std::move(table.notices),
                                study_options(global, options));
  } else {
    store::Store store(global.store_path);
    collect::RunDigests digests;
    source =
        report::stored_page(store, {options.study, {}}, digests, study_options(global, options));
  }
  const std::string html = report::page_html(report::build_page(source));
  write_result(options.html == "-" ? "" : options.html, [&](std::ostream& out) { out << html; });
  if (options.html != "-") {
    fmt::print(stderr, "{} ({}): opens in any browser\n", options.html,
               format_bytes(Bytes{html.size()}));
  }
}

void run_report(const GlobalOptions& global, const ReportOptions& options) {
  if (!options.html.empty()) return write_html(global, options);
  report::Format format = report::format_from_name(options.format);
  if (global.json) format = report::Format::kJson;
  if (options.csv) format = report::Format::kCsv;
  const collect::StoredRuns measured = measurements_for(global, options);
  std::string text;
  if (format == report::Format::kCsv) {
    text = report::measurements_csv(measured.rows);
  } else {
    const std::size_t width = options.output.empty() ? terminal_width() : 0;
    const report::StudyReport study =
        options.table.empty() ? report::study_report(measured, study_options(global, options))
                              : report::study_report(measured.rows, study_options(global, options));
    text =
        report::render_study(study, format, {.width = width, .definitions = options.definitions});
  }
  write_result(options.output, [&](std::ostream& out) { out << text; });
}

}  // namespace

void add_report_command(CLI::App& app, const GlobalOptions& global) {
  const auto options = std::make_shared<ReportOptions>();
  CLI::App& report = add_command(
      app, "report",
      "Prints tables and a verdict, or writes a page with charts. Reports on the runs of the "
      "store, "
      "one of its studies, or a measurements table.",
      {"lockstep report", "lockstep report --from examples/studies/e-data-parallel-sweep.csv",
       "lockstep report my-study --format markdown -o study.md",
       "lockstep report my-study --html study.html", "lockstep report --csv > table.csv"});
  report.add_option("study", options->study, "Study to report on (default: all runs of the store)")
      ->type_name("STUDY");
  report
      .add_option(
          "--from", options->table,
          "Read this measurements table, or any file that import reads, instead of the store")
      ->type_name("FILE");
  report
      .add_option("--format", options->format,
                  "text, markdown, csv (measurements table), json or latex")
      ->type_name("FORMAT")
      ->capture_default_str();
  report
      .add_option("--html", options->html,
                  "Write one HTML file with charts and tables, to view or share")
      ->type_name("FILE");
  report
      .add_option("--price", options->prices,
                  "Price of one device per hour, for the decision: v100=2.48/h")
      ->delimiter(',');
  report
      .add_option("--carbon", options->carbon,
                  "Carbon intensity of the electricity, to convert measured energy to CO2")
      ->type_name("G/kWh")
      ->check(CLI::Range(1e-3, 1e5));
  report
      .add_option("--peak", options->peak,
                  "Peak of one worker's device, for the utilisation: 312T (default: its data sheet "
                  "in FP32, or what lockstep bench device measured)")
      ->type_name("FLOP/s");
  report.add_flag("--csv", options->csv, "Print the measurements table, same as --format csv");
  report
      .add_option("--scaling", options->scaling,
                  "Compare at the same global batch (strong) or batch per worker (weak); default: "
                  "what the table fixed")
      ->type_name("KIND");
  report.add_option("--baseline", options->baseline, "Worker count of the baseline of speedups")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  report
      .add_option("--link", options->link_gb_per_s,
                  "Bandwidth of the link, for its utilisation (default: as lockstep bench "
                  "collectives measured on the same machine)")
      ->type_name("GB/s")
      ->check(CLI::PositiveNumber);
  report.add_flag("--definitions", options->definitions,
                  "Print the definition of every column below its table");
  report.add_option("-o,--output", options->output, "File to write (default: stdout)")
      ->type_name("FILE");
  set_action(report, [&global, options] { run_report(global, *options); });
}

}  // namespace lockstep::cli
