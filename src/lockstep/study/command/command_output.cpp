#include "lockstep/study/command/command_output.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/base/units.h"

namespace lockstep::study {
namespace {

/// Reading again may take a twentieth of the time, and happens at most twice per second.
constexpr Nanoseconds kShare = 20;
constexpr Nanoseconds kLeastPause = 500'000'000;

std::ofstream open_output(const std::filesystem::path& path) {
  std::error_code problem;
  std::filesystem::create_directories(path.parent_path(), problem);
  std::ofstream file(path, std::ios::trunc);
  if (!file) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("cannot write the output of the command to {}", path.string()),
                "grant write permission there, or choose another store with --store");
  }
  return file;
}

std::string summary(const import::ImportedRun& run) {
  std::string text;
  const auto append = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (!run.epochs.empty()) {
    const record::EpochResult& epoch = run.epochs.back();
    append(fmt::format("epoch {}", epoch.epoch));
    if (epoch.train_s > 0) append(format_seconds(Seconds(epoch.train_s)));
    if (std::isfinite(epoch.train_loss)) append(fmt::format("loss {:.4g}", epoch.train_loss));
    if (std::isfinite(epoch.val_accuracy)) append(fmt::format("val {:.4g}", epoch.val_accuracy));
  }
  if (!run.throughput.empty()) {
    append(format_count(std::llround(run.throughput.median())) + " examples/s");
  }
  return text;
}

}  // namespace

CommandOutput::CommandOutput(std::filesystem::path path, const import::Importer& importer,
                             const Clock& clock, std::ofstream file)
    : path_(std::move(path)), importer_(importer), clock_(clock), file_(std::move(file)) {}

CommandOutput::CommandOutput(const std::filesystem::path& path, const import::Importer& importer,
                             const Clock& clock)
    : CommandOutput(path, importer, clock, open_output(path)) {}

CommandOutput CommandOutput::of_job(std::filesystem::path path, const import::Importer& importer,
                                    const Clock& clock) {
  return CommandOutput(std::move(path), importer, clock, std::ofstream());
}

bool CommandOutput::add(std::string_view line) {
  if (file_.is_open()) file_ << line << '\n' << std::flush;
  failure_.add(line);
  facts_.line(line, 0);
  const bool now = facts_.out_of_memory() && !out_of_memory_;
  out_of_memory_ = facts_.out_of_memory();
  return now;
}

void CommandOutput::scan() {
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) add(line);
}

const std::string& CommandOutput::latest() {
  const Nanoseconds began = clock_.monotonic();
  if (began < read_again_at_) return latest_;
  std::string ignored;
  latest_file_ = read(ignored);
  if (latest_file_) {
    for (const import::ImportedRun& run : latest_file_->runs) {
      if (std::string text = summary(run); !text.empty()) latest_ = std::move(text);
    }
  }
  const Nanoseconds took = clock_.monotonic() - began;
  read_again_at_ = began + std::max(kLeastPause, kShare * took);
  return latest_;
}

std::optional<import::ImportedFile> CommandOutput::read(std::string& problem) {
  try {
    return importer_.read(path_.string());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) throw;
    problem = error.what();
    return std::nullopt;
  }
}

}  // namespace lockstep::study
