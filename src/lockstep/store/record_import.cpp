#include "lockstep/store/record_import.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "lockstep/base/error.h"
#include "lockstep/record/event.h"
#include "lockstep/store/store.h"

namespace lockstep::store {
namespace {

constexpr std::size_t kLongestFirstLine = 64 * 1024;

/// The run that was started at the same nanosecond, if the store has it.
std::optional<std::int64_t> stored_run(const std::string& store_path,
                                       const record::RunStarted& started) {
  std::error_code ignored;
  if (!std::filesystem::exists(store_path, ignored)) return std::nullopt;
  for (const RunSummary& run : Store(store_path).runs()) {
    if (run.started_wall_ns == started.started_wall_ns && run.spec.recipe == started.spec.recipe) {
      return run.id;
    }
  }
  return std::nullopt;
}

RunLabel label_of(const std::string& study, const record::RunSpec& spec) {
  if (study.empty()) return {};
  return {study, fmt::format("workers={} batch={}", spec.workers, spec.batch_per_worker), 0};
}

}  // namespace

bool is_run_record(const std::string& path) {
  std::ifstream file(path);
  std::string line(kLongestFirstLine, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  line.resize(std::min(line.find('\n'), line.size()));
  if (!line.starts_with("{\"") || line.find("\"type\":\"run_started\"") == std::string::npos) {
    return false;
  }
  try {
    return record::from_line(line).has_value();
  } catch (const Error&) {
    return false;
  }
}

StoredRecord store_run_record(const std::string& path, const std::string& store_path,
                              const std::string& study) {
  std::ifstream file(path);
  StoredRecord stored;
  std::optional<RunWriter> writer;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    std::optional<record::Event> event;
    try {
      event = record::from_line(line);
    } catch (const Error& error) {
      if (file.eof()) break;  // cut off where the run was killed
      throw Error(ErrorKind::kData, fmt::format("{} line {}: {}", path, number, error.what()));
    }
    if (!event) continue;
    if (const auto* started = std::get_if<record::RunStarted>(&*event); started && !writer) {
      if (const auto known = stored_run(store_path, *started)) return {*known, false, true};
      writer.emplace(store_path, label_of(study, started->spec));
    }
    if (!writer) continue;
    writer->write(*event);
    stored.ended = stored.ended || std::holds_alternative<record::RunEnded>(*event);
  }
  if (writer) stored.run = writer->run_id();
  return stored;
}

}  // namespace lockstep::store
