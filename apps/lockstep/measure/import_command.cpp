#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "command_line/command.h"
#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/base/terminal/console.h"
#include "lockstep/base/units.h"
#include "lockstep/import/explained_page.h"
#include "lockstep/import/import_paths.h"
#include "lockstep/import/import_store.h"
#include "lockstep/import/import_summary.h"
#include "lockstep/import/merge_ranks.h"
#include "lockstep/import/run_record.h"
#include "lockstep/import/tell_apart.h"
#include "lockstep/store/record_import.h"

namespace lockstep::cli {
namespace {

using import::FileOutcome;
using import::ImportPath;
using import::ImportTotals;

struct ImportRequest {
  std::vector<std::string> paths;
  std::string format;
  std::vector<std::string> settings;
  std::string study;
  std::string pattern;
  bool list_formats = false;
  bool dry_run = false;
  bool explain = false;
  std::string page;  ///< where --explain --html writes
  bool replace = false;
};

auto reader_options(const ImportRequest& request) {
  lockstep::import::ImportOptions options;
  options.format = request.format;
  options.pattern = request.pattern;
  options.explain = request.explain;
  for (const std::string& setting : request.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw Error(ErrorKind::kUsage, fmt::format("--set {} is not of the form NAME=VALUE", setting),
                  "write --set workers=4");
    }
    options.settings[setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  return options;
}

void print_formats(const import::Registry& registry, bool json) {
  if (json) {
    nlohmann::json formats = nlohmann::json::array();
    for (const auto& reader : registry.readers()) {
      formats.push_back({{"name", reader->name()}, {"description", reader->description()}});
    }
    fmt::print("{}\n", formats.dump(2));
    return;
  }
  for (const auto& reader : registry.readers())
    fmt::print("{:<20} {}\n", reader->name(), reader->description());
  fmt::print(
      "Files may be gzip-compressed, and lines may carry the rank prefixes of mpirun, horovodrun,\n"
      "srun --label and torchrun. --pattern reads any other line log.\n");
}

/// A study is of one network: where the logs do not name it, the study's name stands for it, so
/// that its runs are compared regardless of their file names.
void name_after_study(const std::string& study, std::vector<import::ImportedFile>& files) {
  for (import::ImportedFile& file : files) {
    for (import::ImportedRun& run : file.runs) {
      const bool told = run.model && run.model.from < import::Provenance::kName;
      if (!told && run.is_training()) run.model = {study, import::Provenance::kUser};
    }
  }
}

/// A status line names the file that is read: folders may have thousands.
std::vector<FileOutcome> read_all(const import::Importer& importer,
                                  const std::vector<ImportPath>& paths, const std::string& study,
                                  Console& console) {
  std::vector<import::ImportedFile> files;
  std::vector<FileOutcome> outcomes(paths.size());
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    console.set_status(fmt::format("file {} of {}: {}", i + 1, paths.size(), paths[i].path));
    try {
      files.push_back(importer.read(paths[i].path));
      places.push_back(i);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kData) throw;
      outcomes[i].file.path = paths[i].path;
      outcomes[i].error = error.what();
      outcomes[i].hint = error.hint();
    }
  }
  console.clear_status();
  import::merge_ranks(files);
  if (!study.empty()) name_after_study(study, files);
  import::tell_apart(files);
  for (std::size_t k = 0; k < files.size(); ++k) outcomes[places[k]].file = std::move(files[k]);
  return outcomes;
}

/// A study compares runs by their worker count: one that is unknown makes it meaningless.
void require_workers(const std::vector<FileOutcome>& outcomes) {
  for (const FileOutcome& outcome : outcomes) {
    for (const import::ImportedRun& run : outcome.file.runs) {
      if (run.workers || !run.is_training() || !run.has_figures()) continue;
      throw Error(
          ErrorKind::kData,
          fmt::format("the number of workers of {}{}{} is neither in the log nor in its name",
                      outcome.file.path, run.label.empty() ? "" : ", ", run.label),
          "import that file with --set workers=N, or include it in the name: exp_4gpus.log");
    }
  }
}

void print_outcomes(const GlobalOptions& global, const ImportRequest& request,
                    const std::vector<FileOutcome>& outcomes) {
  const ImportTotals totals = import::import_totals(outcomes);
  if (global.json) {
    nlohmann::json out{
        {"added", totals.added}, {"known", totals.known}, {"files", nlohmann::json::array()}};
    for (const FileOutcome& outcome : outcomes)
      out["files"].push_back(import::summary_json(outcome));
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  for (const FileOutcome& outcome : outcomes) fmt::print("{}", import::summary_text(outcome));
  if (const std::string hint = import::comparison_hint(outcomes); !hint.empty())
    fmt::print("{}\n", hint);
  if (request.dry_run) {
    fmt::print("nothing stored (--dry-run)\n");
  } else {
    fmt::print("{} added to {}", counted(totals.added, "run"), global.store_path);
    if (totals.known > 0) fmt::print(", {} already imported", totals.known);
    fmt::print("\n");
  }
}

/// Beside the JSON document if there is one.
void console_line(const GlobalOptions& global, const std::string& text) {
  fmt::print(global.json ? stderr : stdout, "{}\n", text);
}

/// Files of a folder that are nothing to import are only mentioned; a file that was named must do.
void report_failures(const std::vector<ImportPath>& paths,
                     const std::vector<FileOutcome>& outcomes) {
  std::vector<const FileOutcome*> failed;
  std::size_t read = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].error.empty()) {
      ++read;
    } else if (paths[i].from_folder) {
      fmt::print(stderr, "skipped: {}\n", outcomes[i].error);
    } else {
      failed.push_back(&outcomes[i]);
    }
  }
  if (failed.empty() && read > 0) return;
  if (failed.empty()) throw Error(ErrorKind::kData, outcomes.front().error, outcomes.front().hint);
  for (std::size_t i = 0; i + 1 < failed.size(); ++i) {
    fmt::print(stderr, "{}",
               format_error(Error(ErrorKind::kData, failed[i]->error, failed[i]->hint)));
  }
  throw Error(ErrorKind::kData, failed.back()->error, failed.back()->hint);
}

void print_explanation(const ImportRequest& request, const std::vector<FileOutcome>& outcomes) {
  if (!request.page.empty()) {
    std::ofstream page(request.page, std::ios::binary);
    page << import::explained_page(outcomes);
    page.close();
    if (!page) {
      throw Error(ErrorKind::kEnvironment, fmt::format("cannot write {}", request.page),
                  "name a file in a folder that exists");
    }
    fmt::print("{} written; nothing stored (--explain)\n", request.page);
    return;
  }
  for (const FileOutcome& outcome : outcomes)
    fmt::print("{}{}", explained_text(outcome.file), summary_text(outcome));
  fmt::print("nothing stored (--explain)\n");
}

/// Takes records of our own runs out of `paths` and stores them as the runs they are.
void import_own_records(const GlobalOptions& global, const ImportRequest& request,
                        std::vector<ImportPath>& paths) {
  std::erase_if(paths, [&](const ImportPath& path) {
    if (!request.format.empty() || !store::is_run_record(path.path)) return false;
    if (request.dry_run) {
      console_line(global, fmt::format("{}: the record of a lockstep run", path.path));
      return true;
    }
    const store::StoredRecord stored =
        store::store_run_record(path.path, global.store_path, request.study);
    console_line(global,
                 fmt::format("{}: {} {} in {}{}", path.path,
                             stored.fresh ? "stored as run" : "already imported as run", stored.run,
                             global.store_path, stored.ended ? "" : "; its end is not recorded"));
    return true;
  });
}

void import_files(const GlobalOptions& global, const ImportRequest& request) {
  const import::Importer importer(reader_options(request));
  if (request.list_formats) {
    print_formats(importer.registry(), global.json);
    return;
  }
  if (!request.page.empty() && !request.explain) {
    throw Error(ErrorKind::kUsage, "--html needs --explain", "add --explain");
  }
  if (request.paths.empty()) {
    throw Error(ErrorKind::kUsage, "lockstep import needs a file", "see lockstep import --help");
  }
  const SystemClock clock;
  Console console(clock);
  console.set_status("looking for files ...");
  std::vector<ImportPath> paths = import::expand_paths(request.paths);
  console.clear_status();
  import_own_records(global, request, paths);
  if (paths.empty()) return;
  std::vector<FileOutcome> outcomes = read_all(importer, paths, request.study, console);
  if (request.explain) {
    print_explanation(request, outcomes);
    report_failures(paths, outcomes);
    return;
  }
  if (!request.study.empty()) require_workers(outcomes);
  if (!request.dry_run)
    import::store_outcomes(global.store_path, request.study, request.replace, outcomes);
  print_outcomes(global, request, outcomes);
  report_failures(paths, outcomes);
}

}  // namespace

void add_import_command(CLI::App& app, const GlobalOptions& global) {
  const auto request = std::make_shared<ImportRequest>();
  CLI::App& command = add_command(
      app, "import", "Reads logs, traces and tables of other tools and stores them as runs.",
      {"lockstep import logs/*.log",
       "lockstep import --study resnet exp_1g.log exp_2g.log exp_4g.log",
       "lockstep import trainer_state.json --set workers=4 --set batch=32",
       "lockstep import train.out --pattern 'epoch (?<epoch>\\d+): loss (?<loss>\\S+), "
       "(?<epoch_time>\\S+) s'",
       "lockstep import --explain train.out",
       "lockstep import --explain train.out --html read.html",
       "zcat old.log.gz | lockstep import -"});
  command.add_option("path", request->paths, "Files, folders, patterns; - for standard input")
      ->type_name("PATH...");
  command.add_option("--as", request->format, "Read as this format instead of detecting it")
      ->type_name("FORMAT");
  command
      .add_option("--set", request->settings,
                  "A setting that is missing from the log: workers=4, batch=32 (per worker), ...")
      ->type_name("NAME=VALUE")
      ->take_all()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);  // what follows the value are the files
  command.add_option("--study", request->study, "Store the runs in this study")->type_name("NAME");
  command
      .add_option("--pattern", request->pattern,
                  "Read lines by a regular expression with named groups")
      ->type_name("REGEX");
  command.add_flag("--list-formats", request->list_formats, "List the supported formats");
  command.add_flag("--dry-run", request->dry_run, "Show what was found without storing it");
  command.add_flag("--explain", request->explain,
                   "Show what was read from each line and for which run, without storing it");
  command.add_option("--html", request->page, "With --explain: write the result as an HTML page")
      ->type_name("FILE");
  command.add_flag("--replace", request->replace, "Import files again, with different settings");
  set_action(command, [&global, request] { import_files(global, *request); });
}

}  // namespace lockstep::cli
