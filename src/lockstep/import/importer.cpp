#include "lockstep/import/importer.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/import/model/name_facts.h"
#include "lockstep/import/readers/readers.h"
#include "lockstep/import/reported_figures.h"
#include "lockstep/import/run_folder.h"
#include "lockstep/import/run_settings.h"
#include "lockstep/import/scan/line_source.h"
#include "lockstep/import/scan/text_scan.h"
#include "lockstep/import/tell_apart.h"

namespace lockstep::import {
namespace {

/// Launchers and frameworks may talk long before the first figure.
constexpr std::size_t kSamples[] = {256 * 1024, 4 * 1024 * 1024, 32 * 1024 * 1024};
constexpr std::size_t kFarEnough = 64 * 1024;
constexpr std::size_t kMostExplainedBytes = 64 * 1024 * 1024;
constexpr const char* kStandardInput = "standard input";

std::string_view file_name(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

[[noreturn]] void unknown_format(const Input& input, std::string_view text) {
  constexpr std::string_view kNothing("\0 \t\r\n", 5);
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos &&
      text.find_first_not_of(kNothing) == std::string_view::npos) {
    throw Error(ErrorKind::kData,
                fmt::format("{} is binary: its first {} bytes are all zeros, so it has no text",
                            input.name(), text.size()),
                "a full disk or a crash leaves such a file; give another copy of the log");
  }
  if (zero != std::string_view::npos) {
    throw Error(ErrorKind::kData,
                fmt::format("{} is binary (a zero at byte {}) and not a TensorBoard event file",
                            input.name(), zero),
                "give a log, a trace or a table");
  }
  const std::string_view first = trim(text.substr(0, text.find('\n')));
  throw Error(ErrorKind::kData,
              fmt::format("{} has an unrecognised format: line 1 is \"{}\"", input.name(),
                          printable(first, 60)),
              "lockstep import --list-formats shows the supported ones; --as selects one, "
              "--pattern reads any lines");
}

}  // namespace

Importer::Importer(ImportOptions options) : options_(std::move(options)) {
  if (!options_.pattern.empty()) pattern_ = make_pattern_reader(options_.pattern);
  if (!options_.format.empty() && !(pattern_ && options_.format == "pattern"))
    registry_.named(options_.format);
  ImportedRun scratch;
  for (const auto& [name, value] : options_.settings) {
    if (offer_setting(name, value, scratch)) continue;
    if (is_setting(name)) {
      throw Error(ErrorKind::kUsage, fmt::format("--set {}={} has no valid value", name, value),
                  "counts are whole numbers from 1, time_unit is s, ms, min or h, batch_of is "
                  "worker or all");
    }
    throw Error(ErrorKind::kUsage, fmt::format("--set {}={} is an unknown setting", name, value),
                fmt::format("possible settings: {}", setting_names()));
  }
}

Importer::~Importer() = default;

Recognition Importer::reader_for(Input& input) const {
  if (pattern_) return {pattern_.get(), {}};
  if (!options_.format.empty()) return {&registry_.named(options_.format), {}};
  std::string_view text;
  for (const std::size_t size : kSamples) {
    text = input.peek(size);
    const bool complete = text.size() < size;
    std::string_view whole = text;
    if (!complete && whole.rfind('\n') != std::string_view::npos)
      whole = whole.substr(0, whole.rfind('\n') + 1);
    std::string plain;
    if (whole.find('\x1b') != std::string_view::npos &&
        whole.find('\0') == std::string_view::npos) {
      whole = plain = without_escapes(whole);
    }
    Recognition found = registry_.recognise({whole, complete, file_name(input.name())});
    if (found.reader != nullptr) return found;
    if (complete) break;
    // Binary data does not become text further on.
    if (text.substr(0, kFarEnough).find('\0') != std::string_view::npos) break;
  }
  unknown_format(input, text);
}

ImportedFile Importer::read(Input& input) const {
  if (input.peek(1).empty()) {
    throw Error(ErrorKind::kData,
                input.damage().empty() ? fmt::format("{} is empty", input.name()) : input.damage());
  }
  const Recognition found = reader_for(input);
  const Reader& reader = *found.reader;
  ImportSink sink;
  std::string text;
  if (options_.explain) {
    sink.want_explanation();
    text = std::string(input.peek(kMostExplainedBytes));
  }
  reader.read(input, sink);
  input.drain();
  ImportedFile file;
  file.path = input.name();
  file.format = reader.name();
  file.digest = input.digest();
  file.bytes = input.offset();
  file.explained = std::move(sink.explained());
  file.warnings = std::move(sink.warnings());
  if (!input.damage().empty()) file.warnings.push_back(input.damage());
  for (const Reader* other : found.others) {
    // What cells or the program printed is read with these.
    if (file.format == "notebook" || file.format == "markdown" || file.format == "wandb-run") break;
    file.warnings.push_back(
        fmt::format("{} also contains {}, which was not read; --as {} reads that", file.path,
                    other->name(), other->name()));
  }
  file.runs = std::move(sink.runs());
  if (file.runs.empty()) {
    throw Error(ErrorKind::kData,
                file.warnings.empty()
                    ? fmt::format("{} looks like {} but has no figures in its {} bytes", file.path,
                                  file.format, file.bytes)
                    : file.warnings.front(),
                "--as selects another format, --pattern reads any lines");
  }
  complete_runs(file);
  if (file.explained.empty() && !text.empty() && text.find('\0') == std::string::npos)
    file.explained = explain_by_value(text, file.runs);
  return file;
}

/// What follows from settings, the file's name and what was read.
void Importer::complete_runs(ImportedFile& file) const {
  for (ImportedRun& run : file.runs) {
    run.format = file.format;
    for (const auto& [name, value] : options_.settings)
      offer_setting(name, value, run, Provenance::kUser);
    if (!options_.use_file_name) {
      complete(run);
      continue;
    }
    // A file of several runs is not named after one of them.
    const auto read_workers = run.workers.value;
    ImportedRun named;
    facts_from_name(file.path, named);
    if (read_workers && named.workers && *named.workers != *read_workers && file.runs.size() == 1 &&
        run.workers.from != Provenance::kUser) {
      run.warnings.push_back(
          fmt::format("the name of the file states {} workers, the log {}; the log is used",
                      *named.workers, *read_workers));
    }
    facts_from_name(file.path, run);
    // Where a file has runs by name, as charts do, those are what is compared.
    std::string series = run.label.starts_with("#") ? "" : name_of_series(run.label);
    if (series.empty()) series = name_of_series(file.path);
    if (!run.model && run.is_training() && !series.empty() && file.path != kStandardInput)
      run.model.offer(series, Provenance::kName);
    complete(run);
  }
  tell_apart(file);
}

ImportedFile Importer::read(const std::string& path) const {
  std::error_code ignored;
  if (path != "-" && std::filesystem::is_directory(path, ignored)) return read_folder(path);
  Input input(path == "-" ? kStandardInput : path, open_bytes(path));
  return read(input);
}

ImportedFile Importer::read_folder(const std::string& path) const {
  ImportSink sink;
  const FolderContent content = read_run_folder(path, registry_, sink);
  ImportedFile file;
  file.path = path;
  file.format = content.format;
  file.digest = content.digest;
  file.bytes = content.bytes;
  file.warnings = std::move(sink.warnings());
  file.runs = std::move(sink.runs());
  if (file.runs.empty()) {
    throw Error(ErrorKind::kData,
                file.warnings.empty()
                    ? fmt::format("{} is a run of {} without any figures", path, content.format)
                    : file.warnings.front());
  }
  complete_runs(file);
  return file;
}

}  // namespace lockstep::import
