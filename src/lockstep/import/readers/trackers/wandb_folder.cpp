#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "lockstep/base/error.h"
#include "lockstep/import/model/config_facts.h"
#include "lockstep/import/model/history.h"
#include "lockstep/import/readers/readers.h"
#include "lockstep/import/readers/tables/printed_output.h"
#include "lockstep/import/readers/trackers/run_folders.h"
#include "lockstep/import/scan/text_scan.h"
#include "lockstep/import/scan/wandb_log.h"

namespace lockstep::import {
namespace {

namespace fs = std::filesystem;

/// The one record of a run in its folder.
std::optional<fs::path> wandb_record(const fs::path& folder) {
  std::optional<fs::path> found;
  std::error_code problem;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, problem)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("run-") || !name.ends_with(".wandb")) continue;
    if (found) return std::nullopt;
    found = entry.path();
  }
  return found;
}

/// config.yaml has a block per setting: its name, and "value:" below it.
void wandb_config(std::string_view yaml, ImportedRun& run) {
  std::string_view name;
  while (!yaml.empty()) {
    const std::size_t stop = yaml.find('\n');
    const std::string_view line = yaml.substr(0, stop);
    yaml = stop == std::string_view::npos ? std::string_view() : yaml.substr(stop + 1);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    if (line[0] != ' ') {
      name = line.substr(0, colon);
    } else if (trim(line.substr(0, colon)) == "value" && !name.empty() && name[0] != '_') {
      offer_config(name, trim(line.substr(colon + 1)), run);
    }
  }
}

/// wandb-summary.json has the last value of each figure.
ImportedRun wandb_summary(const std::string& text) {
  History history;
  JsonLine line;
  const nlohmann::json summary = nlohmann::json::parse(text, nullptr, false);
  const std::string flat =
      summary.is_object() ? summary.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                          : std::string();
  if (line.parse(flat)) history.row(line.fields());
  ImportedRun run = history.finish();
  if (summary.is_object() && summary.contains("_wandb") && summary["_wandb"].is_object()) {
    const nlohmann::json& own = summary["_wandb"];
    if (own.contains("runtime") && own["runtime"].is_number() && own["runtime"].get<double>() > 0)
      run.total_s = own["runtime"].get<double>();
  }
  return run;
}

/// wandb-metadata.json describes the machine. The devices it has are not those that trained.
void wandb_machine(const std::string& text, ImportedRun& run) {
  const nlohmann::json machine = nlohmann::json::parse(text, nullptr, false);
  if (!machine.is_object() || run.device) return;
  if (machine.contains("gpu") && machine["gpu"].is_string())
    offer_config("gpu", machine["gpu"].get_ref<const std::string&>(), run);
}

}  // namespace

bool is_wandb_folder(const fs::path& folder) {
  std::error_code problem;
  if (wandb_record(folder)) return true;
  return fs::is_regular_file(folder / "files" / "wandb-summary.json", problem) &&
         fs::is_regular_file(folder / "files" / "config.yaml", problem);
}

void read_wandb_folder(const fs::path& folder, const std::vector<std::unique_ptr<Reader>>& readers,
                       ImportSink& sink, ContentDigest& digest) {
  const fs::path files = folder / "files";
  ImportSink found;
  if (const auto record = wandb_record(folder)) {
    Input input(record->string(), open_bytes(record->string()));
    if (!is_wandb_log(input.peek(8))) {
      throw Error(ErrorKind::kData, record->string() + " is not the record of a run",
                  "import the files of the folder one by one");
    }
    make_wandb_run_reader(readers)->read(input, found);
    input.drain();
    digest.add(input.digest(), input.offset());
  }
  for (const std::string& warning : found.warnings()) sink.warn(warning);
  ContentDigest beside;  // the record alone identifies the run: it is the same without its folder
  ContentDigest& counted = digest.bytes() > 0 ? beside : digest;
  ImportedRun run;
  if (found.runs().size() == 1) {
    run = std::move(found.runs().front());
  } else {
    run = wandb_summary(counted.file(files / "wandb-summary.json"));
    wandb_config(counted.file(files / "config.yaml"), run);
  }
  add_printed_times(counted.file(files / "output.log"), folder.string(), readers, run);
  wandb_machine(counted.file(files / "wandb-metadata.json"), run);
  if (run.has_figures()) sink.add(std::move(run));
}

}  // namespace lockstep::import
