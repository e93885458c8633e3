#include "command_line/stored_study.h"

#include <fmt/format.h>

#include <filesystem>

#include "lockstep/base/error.h"

namespace lockstep::cli {

collect::StoredRuns stored_study(const std::string& store_path, const std::string& study,
                                 std::string_view command) {
  try {
    store::Store store(store_path);
    return collect::measured_runs(store, {study, {}});
  } catch (const Error&) {
    std::error_code ignored;
    if (study.empty() || !std::filesystem::is_regular_file(study, ignored)) throw;
    throw Error(ErrorKind::kUsage, fmt::format("{} is a file, not a study in the store", study),
                fmt::format("lockstep {} --from {}", command, study));
  }
}

}  // namespace lockstep::cli
