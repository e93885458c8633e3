#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli_test.h"
#include "lockstep/store/store.h"

namespace lockstep {

/// Runs `lockstep study` and reads what it stored as study s.
class Study : public CliTest {
 protected:
  /// `lockstep study` on one and two workers of one thread, for any number of cores.
  launch::ProcessSpec study(std::vector<std::string> arguments,
                            const std::vector<std::string>& environment = {}) const {
    arguments.insert(arguments.begin(), {"study", "fashion", "--workers", "1,2", "--threads", "1",
                                         "--oversubscribe", "--name", "s"});
    return command(arguments, environment);
  }

  std::vector<store::RunSummary> runs(std::optional<store::RunState> state = {}) const {
    if (!std::filesystem::exists(store())) return {};
    store::RunFilter filter;
    filter.study = "s";
    filter.state = state;
    return store::Store(store().string()).runs(filter);
  }

  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

}  // namespace lockstep
