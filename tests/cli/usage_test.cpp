#include "cli_test.h"

namespace lockstep {
namespace {

class Usage : public CliTest {
 protected:
  void expect_refused(const std::vector<std::string>& arguments, const std::string& message) {
    const auto captured = run(command(arguments));
    EXPECT_EQ(captured.status.code, 2) << message;
    EXPECT_NE(captured.errors.find(message), std::string::npos) << captured.errors;
    EXPECT_NE(captured.errors.find("hint: "), std::string::npos) << captured.errors;
    EXPECT_EQ(captured.output, "");
    EXPECT_TRUE(worker_pids().empty());
  }
};

TEST_F(Usage, PrintsItsVersion) {
  const auto captured = run(command({"--version"}));
  EXPECT_EQ(captured.status.code, 0);
  EXPECT_TRUE(captured.output.starts_with("lockstep ")) << captured.output;
  EXPECT_NE(captured.output.find("\nbuild: "), std::string::npos) << captured.output;
  EXPECT_NE(captured.output.find("fake_worker: lockstep-worker 0, LibTorch 1.13.1"),
            std::string::npos)
      << captured.output;
}

TEST_F(Usage, HelpOfACommandHasAnExample) {
  const auto captured = run(command({"train", "--help"}));
  EXPECT_EQ(captured.status.code, 0);
  EXPECT_NE(captured.output.find("lockstep train fashion -n 2"), std::string::npos);
}

TEST_F(Usage, SuggestsTheNearestCommandOrOption) {
  expect_refused({"trian"}, "lockstep: unknown command 'trian'\nhint: did you mean train?");
  expect_refused({"train", "--wokers", "2"},
                 "lockstep train: unknown option --wokers\nhint: did you mean --workers?");
  expect_refused({"train", "--bach=4"}, "did you mean --batch?");
  expect_refused({"--vrsion"}, "did you mean --version?");
}

TEST_F(Usage, ExplainsTheCommandsWhenNoneIsGiven) {
  expect_refused({}, "no command given");
  expect_refused({}, "Sweeps worker counts and batches");
}

TEST_F(Usage, HelpIsACommandToo) {
  EXPECT_EQ(run(command({"help"})).output, run(command({"--help"})).output);
  EXPECT_EQ(run(command({"help", "bench", "device"})).output,
            run(command({"bench", "device", "--help"})).output);
  expect_refused({"help", "trian"}, "unknown command 'trian'");
}

TEST_F(Usage, ReportsOutputThatCannotBeWritten) {
  launch::ProcessSpec spec;
  spec.program = "/bin/sh";
  spec.arguments = {"-c", std::string(LOCKSTEP_PROGRAM) + " --help > /dev/full"};
  spec.separate_errors = true;
  const auto captured = run(spec);
  EXPECT_EQ(captured.status.code, 3);
  EXPECT_NE(captured.errors.find("cannot write to standard output: No space left on device"),
            std::string::npos)
      << captured.errors;
}

TEST_F(Usage, RefusesWhatMakesNoSenseBeforeAnyWorkerStarts) {
  expect_refused({"train", "-n", "0"}, "--workers 0 is below 1");
  expect_refused({"train", "-n", "-1"}, "--workers -1 is below 1");
  expect_refused({"train", "-n", "60000"}, "--workers 60000 exceeds the ");
  expect_refused({"train", "--batch", "1e3"}, "--batch '1e3' is not a whole number");
  expect_refused({"train", "--epochs"}, "--epochs needs a value");
  expect_refused({"train", "--epochs", "1", "--epochs", "2"}, "--epochs was given more than once");
  expect_refused({"train", "--backend", "carrier-pigeon"}, "--backend 'carrier-pigeon' is unknown");
  expect_refused({"train", "--resume"}, "--resume needs a checkpoint folder");
  expect_refused({"train", "fashion", "more"}, "unexpected argument 'more'");
  expect_refused({"run", "python", "train.py"},
                 "unexpected argument 'python'\nhint: write your command after --");
  expect_refused({"study", "torchrun", "--nproc_per_node", "2", "train.py"},
                 "unknown option --nproc_per_node\nhint: write your command after --");
  expect_refused({"study", "--"}, "no command follows --");
  expect_refused({"study", "train.py"}, "train.py is not a recipe\nhint: to study a program");
}

TEST_F(Usage, ReportsWhereTheWorkerWasLookedFor) {
  const auto captured = run(command({"train"}, {"LOCKSTEP_WORKER_PROGRAM=/nonexistent/worker"}));
  EXPECT_EQ(captured.status.code, 3);
  EXPECT_NE(captured.errors.find("/nonexistent/worker"), std::string::npos) << captured.errors;
}

}  // namespace
}  // namespace lockstep
