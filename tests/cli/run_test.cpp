#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>

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

TEST_F(Run, IsInTheStoreWhileItRuns) {
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

/// Twelve steps of a small network, then `end`.
std::string torch_script(const std::string& end) {
  return R"(cat > train.py << 'END'
import sys, time, torch
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(192, 8), torch.randint(0, 2, (192,)))
for inputs, labels in DataLoader(data, batch_size=16):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()
    time.sleep(float(sys.argv[1]))
)" + end +
         "\nEND\n";
}

bool has_torch() {
  return std::system("/usr/bin/python3 -c 'import torch' 2> /dev/null") == 0;
}

TEST_F(Run, KeepsTheStepsOfAScriptThatCrashes) {
  if (!has_torch()) GTEST_SKIP() << "no PyTorch for /usr/bin/python3";
  const auto captured = run(script({}, "cd " + folder_.string() + "\n" +
                                           torch_script("raise RuntimeError('out of luck')") +
                                           "exec /usr/bin/python3 train.py 0"));
  EXPECT_EQ(captured.status.code, 1);
  EXPECT_NE(captured.errors.find("RuntimeError: out of luck"), std::string::npos);
  EXPECT_NE(captured.errors.find("where the time went"), std::string::npos) << captured.errors;
  ASSERT_EQ(runs().size(), 1u);
  EXPECT_EQ(runs().front().state, store::RunState::kFailed);
  EXPECT_EQ(store::Store(store().string()).load(1).steps, 12);
}

TEST_F(Run, ShowsTheStepsOfAWatchedScriptWhileItGoesOn) {
  if (!has_torch()) GTEST_SKIP() << "no PyTorch for /usr/bin/python3";
  auto process = launch::ChildProcess::start(script(
      {}, "cd " + folder_.string() + "\n" + torch_script("print('all steps')\ntime.sleep(600)") +
              "echo ready; exec /usr/bin/python3 train.py 0.5"));
  std::string output;
  ASSERT_TRUE(read_until(process, "ready", output)) << output;
  EXPECT_TRUE(eventually([&] {
    const auto listed = runs();
    return !listed.empty() && listed.front().progress && listed.front().progress->step > 1 &&
           listed.front().progress->steps_per_epoch == 12;
  }));
  process.signal(SIGINT);
  std::optional<launch::ExitStatus> status;
  ASSERT_TRUE(eventually([&] { return (status = process.poll()).has_value(); }));
  EXPECT_GT(store::Store(store().string()).load(1).steps, 1) << "steps of an interrupted run";
}

TEST_F(Run, EndsAWatchedScriptAfterTheStepsThatWereAskedFor) {
  if (!has_torch()) GTEST_SKIP() << "no PyTorch for /usr/bin/python3";
  const auto captured = run(script({"--steps", "4"}, "cd " + folder_.string() + "\n" +
                                                         torch_script("time.sleep(600)") +
                                                         "exec /usr/bin/python3 train.py 0.3"));
  EXPECT_EQ(captured.status.code, 0) << captured.errors;
  EXPECT_NE(captured.errors.find("ended by --steps"), std::string::npos) << captured.errors;
  ASSERT_EQ(runs().size(), 1u);
  EXPECT_EQ(runs().front().state, store::RunState::kDone);
  const auto stored = store::Store(store().string()).load(1);
  EXPECT_EQ(stored.steps, 4);
  EXPECT_EQ(stored.started.spec.max_steps, 4);
  EXPECT_EQ(stored.started.spec.data.train_examples, 192) << "of an epoch, as the loader has it";
}

TEST_F(Run, HasNoEpochsButThoseOfItsStepsWhereItIsEndedEarly) {
  if (!has_torch()) GTEST_SKIP() << "no PyTorch for /usr/bin/python3";
  const auto captured = run(script(
      {"--steps", "4"}, "cd " + folder_.string() + "\n" +
                            "for e in 1 2 3; do echo \"Epoch $e/3: loss 0.5, time 1.0 s\"; done\n" +
                            torch_script("") + "exec /usr/bin/python3 train.py 0.3"));
  EXPECT_EQ(captured.status.code, 0) << captured.errors;
  const auto stored = store::Store(store().string()).load(1);
  ASSERT_EQ(stored.epochs.size(), 1u) << "those of the output were written while it ran";
  EXPECT_EQ(stored.epochs[0].examples, 64);
}

TEST_F(Run, TakesEpochsFromTheOutputOfAScriptWithoutALoader) {
  if (!has_torch()) GTEST_SKIP() << "no PyTorch for /usr/bin/python3";
  const auto without_loader = [](const std::string& line) {
    return R"(cat > train.py << 'END'
import time, torch
torch.set_num_threads(1)
model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
inputs, labels = torch.randn(96, 8), torch.randint(0, 2, (96,))
for epoch in range(1, 4):
    began = time.time()
    for part in torch.randperm(96).split(16):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs[part]), labels[part]).backward()
        optimizer.step()
)" + line + "\nEND\nexec /usr/bin/python3 train.py";
  };
  const std::string go = "cd " + folder_.string() + "\n";
  const std::string print =
      "    print(f'Epoch {epoch}/3: loss 0.{epoch}, time {time.time() - began + 0.05:.3f} s')";
  const auto printed = run(script({}, go + without_loader(print)));
  EXPECT_EQ(printed.status.code, 0) << printed.errors;
  const auto told = store::Store(store().string()).load(1);
  ASSERT_EQ(told.epochs.size(), 3u) << printed.output;
  EXPECT_EQ(told.epochs[2].examples, 96);
  EXPECT_DOUBLE_EQ(told.epochs[2].train_loss, 0.3);
  EXPECT_EQ(told.started.spec.epochs, 3);

  const auto silent = run(script({}, go + without_loader("    pass")));
  EXPECT_EQ(silent.status.code, 0) << silent.errors;
  EXPECT_NE(silent.errors.find("examples/s with 16 per step"), std::string::npos) << silent.errors;
  const auto unknown = store::Store(store().string()).load(2);
  EXPECT_EQ(unknown.started.spec.epochs, 0);
  EXPECT_EQ(unknown.started.spec.max_steps, 18);
  EXPECT_EQ(unknown.started.spec.data.train_examples, 0);
}

TEST_F(Run, IsSimulatedFromTheStepsOfAWatchedScript) {
  if (!has_torch()) GTEST_SKIP() << "no PyTorch for /usr/bin/python3";
  const auto watched = run(script(
      {}, "cd " + folder_.string() + "\n" + torch_script("") + "exec /usr/bin/python3 train.py 0"));
  ASSERT_EQ(watched.status.code, 0) << watched.errors;
  const auto simulated = run(
      command({"--json", "simulate", "--run", "1", "--workers", "1..4", "--link", "1Gbit,100us"}));
  ASSERT_EQ(simulated.status.code, 0) << simulated.errors;
  const auto json = nlohmann::json::parse(simulated.output);
  EXPECT_EQ(json.at("gradient_bytes_on_wire"), 72) << "a layer of 8 x 2 and 2 biases";
  ASSERT_EQ(json.at("points").size(), 3u);
  const auto& four = json.at("points").back();
  EXPECT_GT(four.at("compute_s").get<double>(), 0);
  // Six messages of a ring, or two trees of two levels each way: the latency is all.
  EXPECT_GT(four.at("communication_s").get<double>(), 3 * 100e-6);
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
