#include <algorithm>
#include <csignal>

#include "cli_test.h"
#include "lockstep/store/store.h"

namespace lockstep {
namespace {

class Run : public CliTest {
 protected:
  /// `lockstep run OPTIONS -- SCRIPT 2 32`, a shell script called train.sh.
  launch::ProcessSpec script(std::vector<std::string> options, const std::string& text) const {
    const std::filesystem::path path = folder_ / "train.sh";
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"--", path.string(), "2", "32"});
    return command(options);
  }

  std::vector<store::RunSummary> runs() const {
    if (!std::filesystem::exists(store())) return {};
    return store::Store(store().string()).runs({});
  }

  static constexpr const char* kTwoEpochs =
      "for e in 1 2; do echo \"Epoch $e/2: loss 0.$e, time 3.$e s\"; done; echo late >&2";
};

TEST_F(Run, KeepsARunWithItsOutputAndFigures) {
  const auto captured = run(script({"-n", "2", "-b", "32", "--device", "cpu"}, kTwoEpochs));
  EXPECT_EQ(captured.status.code, 0) << captured.errors;
  EXPECT_EQ(captured.output, "Epoch 1/2: loss 0.1, time 3.1 s\nEpoch 2/2: loss 0.2, time 3.2 s\n");
  EXPECT_TRUE(captured.errors.starts_with("late\n")) << captured.errors;
  EXPECT_NE(captured.errors.find("run 1 in "), std::string::npos) << captured.errors;
  ASSERT_EQ(runs().size(), 1u);
  const store::RunSummary kept = runs().front();
  EXPECT_EQ(kept.state, store::RunState::kDone);
  EXPECT_EQ(kept.spec.recipe, "train");
  EXPECT_EQ(kept.spec.workers, 2);
  EXPECT_EQ(kept.spec.batch_per_worker, 32);
  EXPECT_EQ(kept.epochs_done, 2);
}

TEST_F(Run, EndsWithTheExitCodeOfTheCommandAndKeepsTheFailure) {
  const auto captured = run(script({}, "echo no such device; exit 3"));
  EXPECT_EQ(captured.status.code, 3);
  EXPECT_NE(captured.errors.find("its last line: no such device"), std::string::npos)
      << captured.errors;
  ASSERT_EQ(runs().size(), 1u);
  EXPECT_EQ(runs().front().state, store::RunState::kFailed);
  EXPECT_EQ(run(script({}, "kill -KILL $$")).status.code, 128 + SIGKILL);
}

TEST_F(Run, TakesTheWorkerCountFromTheOutputWhereItIsNotGiven) {
  ASSERT_EQ(run(script({}, std::string("echo World size: 4; ") + kTwoEpochs)).status.code, 0);
  ASSERT_EQ(runs().size(), 1u);
  EXPECT_EQ(runs().front().spec.workers, 4);
}

TEST_F(Run, IsInTheStoreWhileItGoesOn) {
  auto process = launch::ChildProcess::start(script({}, "echo ready; sleep 600"));
  std::string output;
  ASSERT_TRUE(read_until(process, "ready", output)) << output;
  ASSERT_EQ(runs().size(), 1u);
  EXPECT_EQ(runs().front().state, store::RunState::kRunning);
  process.signal(SIGINT);
  std::optional<launch::ExitStatus> status;
  ASSERT_TRUE(eventually([&] { return (status = process.poll()).has_value(); }));
  EXPECT_EQ(status->code, 130);
  EXPECT_EQ(runs().front().state, store::RunState::kInterrupted);
}

TEST_F(Run, RefusesAPlaceholderWithoutAValue) {
  const auto captured = run(command({"run", "--", "echo", "{workers}"}));
  EXPECT_EQ(captured.status.code, 2);
  EXPECT_NE(captured.errors.find("add -n"), std::string::npos) << captured.errors;
  EXPECT_EQ(run(command({"run"})).status.code, 2);
  EXPECT_TRUE(runs().empty());
}

TEST_F(Run, KeepsNothingOfACommandThatCannotBeStarted) {
  const auto captured = run(command({"run", "--", "no-such-program-anywhere"}));
  EXPECT_EQ(captured.status.code, 3);
  EXPECT_TRUE(runs().empty());
}

}  // namespace
}  // namespace lockstep
