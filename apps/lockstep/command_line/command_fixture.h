#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "command_line/command_line.h"
#include "lockstep/base/test_folder.h"

namespace lockstep::cli {

struct CommandOutcome {
  int code = 0;
  std::string out;
  std::string err;
};

/// A separate folder with a store in it, and the command line run in this process.
class CommandTest : public ::testing::Test {
 protected:
  std::string store() const { return folder_ + "/lockstep.db"; }

  /// `lockstep --store STORE WORDS`; words are cut at blanks.
  CommandOutcome run(const std::string& words, const std::vector<AddCommand>& commands) const {
    std::vector<std::string> arguments;
    std::istringstream in(words);
    for (std::string word; in >> word;) arguments.push_back(word);
    return run(arguments, commands);
  }

  CommandOutcome run(std::vector<std::string> arguments,
                     const std::vector<AddCommand>& commands) const {
    arguments.insert(arguments.begin(), {"lockstep", "--store", store()});
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    CommandOutcome outcome;
    outcome.code =
        run_command_line(static_cast<int>(arguments.size()), argv.data(), {{"Commands", commands}});
    outcome.out = ::testing::internal::GetCapturedStdout();
    outcome.err = ::testing::internal::GetCapturedStderr();
    return outcome;
  }

  const TestFolder own_;
  const std::string folder_ = own_.path();
};

}  // namespace lockstep::cli
