#include <filesystem>
#include <fstream>
#include <iterator>

#include "command_line/command_fixture.h"
#include "lockstep/base/clock.h"
#include "lockstep/launch/process/captured_output.h"

namespace lockstep::cli {
namespace {

class CompletionCommand : public CommandTest {
 protected:
  CommandOutcome call(const std::string& words) const {
    return run(words, {&add_train_command, &add_runs_command, &add_report_command,
                       &add_completion_command});
  }

  /// What bash offers for the last of `words`, one per line.
  std::string bash_offers(const std::vector<std::string>& words) const {
    const std::string script = folder_ + "/completion.bash";
    std::ofstream(script) << call("completion bash").out;
    std::string line = "source " + script + "; COMP_WORDS=(";
    for (const std::string& word : words) line += "'" + word + "' ";
    line += "); COMP_CWORD=" + std::to_string(words.size() - 1) +
            "; _lockstep; printf '%s\\n' \"${COMPREPLY[@]}\"";
    launch::ProcessSpec spec;
    spec.program = "bash";
    spec.arguments = {"--norc", "-c", line};
    const auto captured = launch::run_captured(spec, Seconds(30), SystemClock());
    EXPECT_TRUE(captured.status.clean()) << captured.output;
    return "\n" + captured.output;
  }
};

TEST_F(CompletionCommand, BashOffersCommandsThenTheirOptionsThenTheirValues) {
  EXPECT_NE(bash_offers({"lockstep", "t"}).find("\ntrain\n"), std::string::npos);
  EXPECT_EQ(bash_offers({"lockstep", "t"}).find("report"), std::string::npos);
  EXPECT_NE(bash_offers({"lockstep", "report", "--ht"}).find("\n--html\n"), std::string::npos);
  EXPECT_NE(bash_offers({"lockstep", "report", "--st"}).find("\n--store\n"), std::string::npos);
  const std::string backends = bash_offers({"lockstep", "train", "--backend", ""});
  EXPECT_NE(backends.find("\ngloo\n"), std::string::npos) << backends;
  EXPECT_EQ(backends.find("--"), std::string::npos) << backends;
}

TEST_F(CompletionCommand, CoversEveryOptionInEveryShell) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const CommandOutcome outcome = call(std::string("completion ") + shell);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    for (const char* word : {"definitions", "weight-decay", "gloo", "delete"}) {
      EXPECT_NE(outcome.out.find(word), std::string::npos) << shell << ": " << word;
    }
    EXPECT_EQ(outcome.out.find("manual"), std::string::npos) << "hidden: " << shell;
  }
}

TEST_F(CompletionCommand, RefusesAnUnknownShell) {
  const CommandOutcome outcome = call("completion csh");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("choose bash, zsh or fish"), std::string::npos) << outcome.err;
}

TEST_F(CompletionCommand, WritesAManualPagePerCommand) {
  EXPECT_EQ(call("manual " + folder_ + "/man").code, 0);
  for (const char* page : {"lockstep.1", "lockstep-train.1", "lockstep-runs.1"}) {
    std::ifstream in(folder_ + "/man/" + page);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    EXPECT_TRUE(text.starts_with(".TH \"lockstep")) << page;
    EXPECT_NE(text.find(".SH SYNOPSIS"), std::string::npos) << page;
  }
}

}  // namespace
}  // namespace lockstep::cli
