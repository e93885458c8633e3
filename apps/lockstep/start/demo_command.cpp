#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "command_line/command.h"
#include "lockstep/analyze/audit/audit.h"
#include "lockstep/base/error.h"
#include "lockstep/base/system/output_file.h"
#include "lockstep/base/terminal/terminal.h"
#include "lockstep/base/text/text.h"
#include "lockstep/import/import_store.h"
#include "lockstep/report/page/html.h"
#include "lockstep/report/page/page_source.h"
#include "lockstep/report/render/text_width.h"
#include "lockstep/report/study_report.h"
#include "start/demo_studies.h"
#include "understand/serve_command.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;

struct DemoOptions {
  std::string folder = "lockstep-demo";
  bool serve = false;
  int port = 8080;
};

/// What a demo study shows: what to use, and which of its reported figures do not follow.
struct DemoVerdict {
  std::string study;
  std::vector<std::string> sentences;
};

std::string study_name(const EmbeddedFile& table) {
  return fs::path(table.path).stem().string();
}

/// Fills the store; a second time nothing is added, because imports are known by their digest.
void import_studies(const std::string& store_path) {
  const import::Importer importer({});
  for (const EmbeddedFile& table : demo_studies()) {
    import::Input input(std::string(table.path), import::bytes_in_memory(table.text));
    std::vector<import::FileOutcome> outcomes(1);
    outcomes.front().file = importer.read(input);
    import::store_outcomes(store_path, study_name(table), false, outcomes);
  }
}

DemoVerdict verdict_of(store::Store& store, const std::string& study) {
  const collect::StoredRuns found = collect::measured_runs(store, {study, {}});
  DemoVerdict verdict{study, {}};
  const report::StudyReport report = report::study_report(found);
  for (const advise::JobAdvice& job : report.advice) {
    verdict.sentences.push_back(job.sentence_of(report.advice.size()));
  }
  for (const std::string& sentence : analyze::audit(found.rows).summary) {
    verdict.sentences.push_back("audit: " + sentence);
  }
  return verdict;
}

std::string write_page(store::Store& store, const fs::path& folder) {
  collect::RunDigests digests;
  report::PageSource source = report::stored_page(store, {}, digests);
  source.title = "Five scaling studies";
  const std::string html = report::page_html(report::build_page(source));
  std::string path = (folder / "index.html").string();
  write_result(path, [&](std::ostream& out) { out << html; });
  return path;
}

void print_text(const std::vector<DemoVerdict>& verdicts) {
  constexpr std::size_t kIndent = 4;
  const std::size_t columns = terminal_width();
  const std::size_t room = columns > 40 ? columns - kIndent : 100;
  fmt::print("Five scaling studies that people made with scripts and spreadsheets:\n");
  for (const DemoVerdict& verdict : verdicts) {
    fmt::print("\n  {}\n", verdict.study);
    for (const std::string& sentence : verdict.sentences) {
      for (const std::string& line : report::wrap(printable(sentence), room)) {
        fmt::print("{:{}}{}\n", "", kIndent, line);
      }
    }
  }
}

void show_demo(const GlobalOptions& global, const DemoOptions& options) {
  const fs::path folder = options.folder;
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("cannot create the folder {}: {}", options.folder, failure.message()),
                "name another folder: lockstep demo FOLDER");
  }
  GlobalOptions own = global;
  own.store_path = (folder / "lockstep.db").string();
  import_studies(own.store_path);
  store::Store store(own.store_path);
  std::vector<DemoVerdict> verdicts;
  for (const EmbeddedFile& table : demo_studies()) {
    verdicts.push_back(verdict_of(store, study_name(table)));
  }
  const std::string page = write_page(store, folder);
  if (global.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const DemoVerdict& verdict : verdicts) {
      list.push_back({{"study", verdict.study}, {"sentences", verdict.sentences}});
    }
    print_line({{"page", page}, {"store", own.store_path}, {"studies", list}});
  } else {
    print_text(verdicts);
    fmt::print("\npage:   {} (opens in any browser)\n", page);
    fmt::print("tables: lockstep report {} --store {}\n", verdicts.back().study, own.store_path);
  }
  if (options.serve) serve_store(own, {.port = options.port});
}

}  // namespace

void add_demo_command(CLI::App& app, const GlobalOptions& global) {
  const auto options = std::make_shared<DemoOptions>();
  CLI::App& command = add_command(
      app, "demo",
      "Reports on five published scaling studies, as text and as a page with charts. "
      "Needs no data and no worker.",
      {"lockstep demo", "lockstep demo --serve", "lockstep demo /tmp/demo --serve --port 0"});
  command.add_option("folder", options->folder, "Folder for the page and the store")
      ->type_name("FOLDER")
      ->capture_default_str();
  command.add_flag("--serve", options->serve, "Then show the store live, as lockstep serve does");
  command.add_option("--port", options->port, "Port for --serve; 0 chooses a free one")
      ->type_name("PORT")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  set_action(command, [&global, options] { show_demo(global, *options); });
}

}  // namespace lockstep::cli
