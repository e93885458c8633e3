#include "program_runs.h"

namespace lockstep {
namespace {

/// The same losses as Python's DistributedDataParallel at each of 50 steps: the same network, first
/// parameters and data, two ranks.
class PythonDdpTest : public ProgramRuns, public ::testing::WithParamInterface<const char*> {};

TEST_P(PythonDdpTest, HasTheSameLossesAsPythonsDdp) {
  std::vector<std::string> words;
  std::istringstream text(GetParam());
  for (std::string word; text >> word;) words.push_back(word);
  const auto ours = numbers(run(2, words), "loss");
  launch::ProcessSpec spec;
  // The Python whose torch is the LibTorch of this build: Debian's, or the one of
  // tools/check-pip-torch.
  const char* const python = std::getenv("LOCKSTEP_PYTHON");
  spec.program = python ? python : "/usr/bin/python3";
  spec.arguments = {LOCKSTEP_PEER, "2"};
  spec.arguments.insert(spec.arguments.end(), words.begin(), words.end());
  spec.separate_errors = true;
  const auto theirs = numbers(launch::run_captured(spec, Seconds(120), SystemClock()), "loss");
  ASSERT_EQ(theirs.size(), 50U);
  for (const auto& [step, loss] : theirs) {
    EXPECT_NEAR(ours.at(step)[0] / loss[0], 1, 1e-5) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PythonDdpTest,
                         ::testing::Values("optimizer=sgd", "optimizer=adam",
                                           "optimizer=fused-adam", "optimizer=sgd accumulate=4",
                                           "optimizer=adam unused=1", "optimizer=sgd unused=1",
                                           "optimizer=sgd frozen=1"));

}  // namespace
}  // namespace lockstep
