#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "lockstep/launch/process/captured_output.h"
#include "lockstep/launch/process/child_process.h"
#include "lockstep/record/event.h"

namespace lockstep {

/// Runs of the shipped programs in a folder of their own, which is removed afterwards.
class ParallelRun : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "lockstep_parallel_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::filesystem::create_directory(folder_ / "tmp");
  }
  void TearDown() override {
    // Every run has to clean up after itself, also when a rank was killed.
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "tmp"));
    std::filesystem::remove_all(folder_);
  }

  std::string folder(const std::string& name) const { return (folder_ / name).string(); }

  /// `lockstep train fashion --json` on few steps without validation, ranks sharing the cores.
  launch::ProcessSpec train(int workers, int batch, std::vector<std::string> more) const {
    more.insert(more.begin(), {"--no-augment", "--no-validation"});
    return train_recipe("fashion", workers, batch, more);
  }

  launch::ProcessSpec train_recipe(const std::string& recipe, int workers, int batch,
                                   const std::vector<std::string>& more) const {
    launch::ProcessSpec spec;
    spec.program = LOCKSTEP_PROGRAM;
    spec.arguments = {"--store",
                      folder("runs.db"),
                      "--json",
                      "train",
                      recipe,
                      "-n",
                      std::to_string(workers),
                      "--batch",
                      std::to_string(batch),
                      "--threads",
                      "1",
                      "--oversubscribe"};
    spec.arguments.insert(spec.arguments.end(), more.begin(), more.end());
    spec.environment = {"TMPDIR=" + folder("tmp")};
    // The same tests on a device that is not there (tests/device).
    if (const char* device = std::getenv("LOCKSTEP_TEST_DEVICE_DOUBLE")) {
      spec.environment.push_back(std::string("LD_PRELOAD=") + device);
      spec.arguments.insert(spec.arguments.end(), {"--device", "cuda"});
    }
    spec.separate_errors = true;
    return spec;
  }

  static launch::CapturedOutput run(const launch::ProcessSpec& spec) {
    return launch::run_captured(spec, Seconds(240), SystemClock());
  }

  static launch::CapturedOutput run_to_success(const launch::ProcessSpec& spec) {
    auto captured = run(spec);
    EXPECT_TRUE(captured.status.clean()) << captured.errors;
    return captured;
  }

  /// The events of one kind in what `lockstep train --json` printed.
  template <class E>
  static std::vector<E> events(const std::string& output) {
    std::vector<E> found;
    for (std::size_t at = 0; at < output.size();) {
      const std::size_t end = std::min(output.find('\n', at), output.size());
      const auto event = record::from_line(output.substr(at, end - at));
      if (event && std::holds_alternative<E>(*event)) found.push_back(std::get<E>(*event));
      at = end + 1;
    }
    return found;
  }

  /// The fingerprint of the parameters a run ended with.
  static std::string digest_of(const launch::CapturedOutput& captured) {
    const auto ended = events<record::RunEnded>(captured.output);
    return ended.size() == 1 ? ended[0].parameters_digest : "no end";
  }

  std::filesystem::path folder_;
};

/// Process ids of the children of a process.
std::vector<pid_t> children_of(pid_t parent);

}  // namespace lockstep
