#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/base/test_folder.h"
#include "lockstep/launch/process/captured_output.h"

namespace lockstep {

/// Runs the shipped program with the fake worker, in a folder of its own that is removed
/// afterwards.
class CliTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(temporary());
    std::filesystem::create_directory(pids());
  }

  std::filesystem::path store() const { return folder_ / "lockstep.db"; }
  std::filesystem::path temporary() const { return folder_ / "tmp"; }
  std::filesystem::path pids() const { return folder_ / "pids"; }

  launch::ProcessSpec command(const std::vector<std::string>& arguments,
                              const std::vector<std::string>& environment = {}) const {
    launch::ProcessSpec spec;
    spec.program = LOCKSTEP_PROGRAM;
    spec.arguments = {"--store=" + store().string()};
    spec.arguments.insert(spec.arguments.end(), arguments.begin(), arguments.end());
    spec.environment = {"LOCKSTEP_WORKER_PROGRAM=" FAKE_WORKER_PROGRAM,
                        "TMPDIR=" + temporary().string(), "FAKE_WORKER_PIDS=" + pids().string()};
    spec.environment.insert(spec.environment.end(), environment.begin(), environment.end());
    spec.separate_errors = true;
    return spec;
  }

  /// `lockstep train` on two workers of one thread, for any number of cores.
  launch::ProcessSpec train(std::vector<std::string> arguments,
                            const std::vector<std::string>& environment = {}) const {
    arguments.insert(arguments.begin(),
                     {"train", "fashion", "-n", "2", "--threads", "1", "--oversubscribe"});
    return command(arguments, environment);
  }

  static launch::CapturedOutput run(const launch::ProcessSpec& spec) {
    const launch::CapturedOutput captured = launch::run_captured(spec, Seconds(60), SystemClock());
    EXPECT_FALSE(captured.timed_out) << captured.output << captured.errors;
    return captured;
  }

  /// Asks again until `holds` does; false when it did not within a minute.
  template <class Condition>
  static bool eventually(Condition&& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  /// Process ids of the workers that were started.
  std::vector<int> worker_pids() const {
    std::vector<int> list;
    for (const auto& entry : std::filesystem::directory_iterator(pids())) {
      list.push_back(std::stoi(entry.path().filename().string()));
    }
    return list;
  }

  /// A process that was not reaped yet counts as ended.
  static bool is_alive(int pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    if (!std::getline(stat, text)) return false;
    const std::size_t close = text.rfind(')');
    return close != std::string::npos && text.substr(close + 2, 1) != "Z";
  }

  const TestFolder own_;
  const std::filesystem::path folder_ = own_.path();
};

/// Reads what a running program prints until `text` is in it; false when it ends or takes a minute.
inline bool read_until(launch::ChildProcess& process, const std::string& text,
                       std::string& so_far) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (so_far.find(text) == std::string::npos) {
    char buffer[4096];
    const ssize_t got = ::read(process.output().get(), buffer, sizeof buffer);
    if (got > 0) {
      so_far.append(buffer, static_cast<std::size_t>(got));
    } else if (got == 0 || std::chrono::steady_clock::now() > deadline) {
      return false;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  return true;
}

}  // namespace lockstep
