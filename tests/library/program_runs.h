#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "lockstep/launch/process/captured_output.h"

namespace lockstep {

/// Runs of training_program with several ranks.
class ProgramRuns : public ::testing::Test {
 protected:
  using Numbers = std::map<std::string, std::vector<double>>;

  void SetUp() override {
    std::string name = ::testing::TempDir() + "lockstep_library_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static launch::CapturedOutput run(int ranks, std::vector<std::string> arguments,
                                    std::vector<std::string> environment = {}) {
    launch::ProcessSpec spec;
    spec.program = LOCKSTEP_TRAINING_PROGRAM;
    spec.arguments = std::move(arguments);
    spec.environment = std::move(environment);
    spec.environment.push_back("LOCKSTEP_WORKERS=" + std::to_string(ranks));
    spec.environment.push_back("OMP_NUM_THREADS=1");
    // The same tests on a device that is not there (tests/device).
    if (const char* device = std::getenv("LOCKSTEP_TEST_DEVICE_DOUBLE")) {
      spec.environment.push_back(std::string("LD_PRELOAD=") + device);
    }
    spec.separate_errors = true;
    return launch::run_captured(spec, Seconds(120), SystemClock());
  }

  /// Lines "KIND NAME number ..." as numbers by name, of a run that must end well.
  static Numbers numbers(const launch::CapturedOutput& captured, const std::string& kind) {
    EXPECT_TRUE(captured.status.clean()) << captured.output << captured.errors;
    Numbers found;
    std::istringstream lines(captured.output);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string first, name;
      words >> first >> name;
      if (first != kind) continue;
      for (double value = 0; words >> value;) found[name].push_back(value);
    }
    EXPECT_FALSE(found.empty()) << captured.output << captured.errors;
    return found;
  }

  /// The largest difference, relative to the larger of 1 and the value.
  static double distance(const Numbers& a, const Numbers& b) {
    double largest = a.size() == b.size() ? 0 : INFINITY;
    for (const auto& [name, values] : a) {
      const auto found = b.find(name);
      if (found == b.end() || found->second.size() != values.size()) return INFINITY;
      for (std::size_t i = 0; i < values.size(); ++i) {
        largest = std::max(
            largest, std::abs(values[i] - found->second[i]) / std::max(1.0, std::abs(values[i])));
      }
    }
    return largest;
  }

  static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++found;
    }
    return found;
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

}  // namespace lockstep
