#include "lockstep/data/files/driving_log.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/base/text/csv.h"
#include "lockstep/base/text/text.h"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;

enum Column : std::size_t { kCentre, kLeft, kRight, kSteering, kNeeded };

/// The file's name, for paths of any operating system.
std::string base_name(std::string_view path) {
  path = trim(path);
  const auto slash = path.find_last_of("/\\");
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

std::optional<float> parse_number(std::string_view text) {
  text = trim(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

class LogReader {
 public:
  LogReader(const std::string& folder, const DrivingLogOptions& options)
      : folder_(folder), log_((folder_ / "driving_log.csv").string()), options_(options) {}

  std::vector<FileEntry> train, validation;
  DrivingReport report;

  void read() {
    std::ifstream in(log_);
    if (!in || fs::is_directory(log_)) {
      throw Error(ErrorKind::kData, fmt::format("{}: cannot be read", log_),
                  "give the folder that contains driving_log.csv and IMG/ with --data DIR, or use "
                  "--data synthetic");
    }
    std::vector<std::string> fields;
    std::size_t lines = 0;
    for (bool first = true; read_csv_record(in, fields, lines); first = false) {
      const bool blank = fields.size() == 1 && trim(fields[0]).empty();
      const bool header =
          first && fields.size() >= kNeeded && trim(fields[kSteering]) == "steering";
      if (!blank && !header) row(fields, lines);
    }
  }

 private:
  void row(const std::vector<std::string>& fields, std::size_t line) {
    ++report.rows;
    if (fields.size() < kNeeded) {
      return skip(line,
                  fmt::format("has {} columns, expected {}", fields.size(), std::size_t{kNeeded}));
    }
    const auto steering = parse_number(fields[kSteering]);
    if (!steering)
      return skip(line, fmt::format("'{}' is not a steering angle", trim(fields[kSteering])));
    const std::string name = base_name(fields[kCentre]);
    const auto centre = find_image(name);
    if (!centre) return skip(line, fmt::format("image '{}' does not exist", name));
    const std::string reason = reason_to_skip(*centre, options_.files.limits);
    if (!reason.empty()) return skip(line, fmt::format("{}: {}", *centre, reason));
    if (stable_fraction(name) < options_.validation) {
      validation.push_back({*centre, 0, *steering, false});
      return;
    }
    add(*centre, *steering);
    const auto correction = static_cast<float>(options_.side_correction);
    if (options_.side_cameras) {
      add_side(fields[kLeft], *steering + correction);
      add_side(fields[kRight], *steering - correction);
    }
  }

  void add(const std::string& path, float steering) {
    train.push_back({path, 0, steering, false});
    if (options_.mirrored_copies) train.push_back({path, 0, -steering, true});
  }

  void add_side(const std::string& field, float steering) {
    const std::string name = base_name(field);
    if (name.empty()) return;
    const auto path = find_image(name);
    if (!path) {
      ++report.missing_side_images;
    } else if (const auto reason = reason_to_skip(*path, options_.files.limits); !reason.empty()) {
      report.files.skipped.push_back({*path, reason});
    } else {
      add(*path, steering);
    }
  }

  std::optional<std::string> find_image(const std::string& name) const {
    if (name.empty()) return {};
    std::error_code ignored;
    for (const fs::path& path : {folder_ / "IMG" / name, folder_ / name}) {
      if (fs::is_regular_file(path, ignored)) return path.string();
    }
    return {};
  }

  void skip(std::size_t line, const std::string& reason) {
    const std::string where = fmt::format("{}:{}", log_, line);
    if (options_.files.strict) {
      throw Error(ErrorKind::kData, fmt::format("{}: {}", where, reason),
                  "omit --strict to skip such rows");
    }
    report.files.skipped.push_back({where, reason});
  }

  fs::path folder_;
  std::string log_;
  const DrivingLogOptions& options_;
};

}  // namespace

DrivingLog load_driving_log(const std::string& folder, const DrivingLogOptions& options) {
  if (!(options.validation >= 0 && options.validation < 1)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("a validation fraction of {} is not in [0, 1)", options.validation));
  }
  LogReader reader(folder, options);
  reader.read();
  if (!reader.train.empty() && reader.validation.empty() && options.validation > 0) {
    throw Error(ErrorKind::kData, fmt::format("{}: no frame is left for validation", folder),
                "give a larger --validation");
  }
  DatasetInfo info;
  info.name = "driving-log";
  info.path = folder;
  info.targets = 1;
  DrivingLog result;
  result.split.train = std::make_shared<FileDataset>(info, std::move(reader.train), options.files);
  if (!reader.validation.empty()) {
    result.split.validation =
        std::make_shared<FileDataset>(info, std::move(reader.validation), options.files);
  }
  result.report = std::move(reader.report);
  return result;
}

}  // namespace lockstep::data
