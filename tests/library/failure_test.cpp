#include "program_runs.h"

namespace lockstep {
namespace {

/// One clear error on every rank, within the timeout.
class FailureTest : public ProgramRuns {
 protected:
  static launch::CapturedOutput fail(const std::string& how, int ranks = 3,
                                     const std::string& more = "everywhere=0") {
    // Only a rank that hangs is noticed by the timeout, which ranks must not need to start.
    const std::string timeout = how == "hang" ? "4" : "30";
    return run(ranks, {"wrong=" + how, more}, {"LOCKSTEP_TIMEOUT=" + timeout});
  }

  static void expect_error(const launch::CapturedOutput& captured, int code,
                           const std::string& text, std::size_t times) {
    EXPECT_EQ(captured.status.code, code) << captured.errors;
    EXPECT_EQ(count(captured.errors, text), times) << captured.errors;
  }
};

TEST_F(FailureTest, NamesARankThatWasKilled) {
  const auto captured = fail("die");
  expect_error(captured, 5, " died", 2);
  EXPECT_EQ(count(captured.errors, "rank 1 on "), 2U) << captured.errors;
  EXPECT_NE(captured.errors.find("error: rank 1 was killed by signal 9"), std::string::npos);
}

TEST_F(FailureTest, GivesAllRanksTheExceptionOfOne) {
  expect_error(fail("throw"), 5, "the data of rank 1 is bad", 3);
}

TEST_F(FailureTest, LeavesOutTheBackTraceOfLibTorchsErrors) {
  const auto captured = fail("torch");
  expect_error(captured, 5, "the shapes of rank 1 do not fit", 3);
  EXPECT_EQ(captured.errors.find("frame #"), std::string::npos) << captured.errors;
}

TEST_F(FailureTest, NamesARankThatHangs) {
  const auto captured = fail("hang");
  expect_error(captured, 5, "rank 1 did not reach", 3);
}

TEST_F(FailureTest, NamesTheRankBetweenHostsToo) {
  expect_error(fail("hang", 3, "backend=gloo"), 5, "rank 1 did not reach", 3);
  expect_error(fail("die", 3, "backend=gloo"), 5, "rank 1 on ", 2);
  expect_error(fail("throw", 3, "backend=gloo"), 5, "the data of rank 1 is bad", 3);
}

TEST_F(FailureTest, NamesTheRankUnderMpiToo) {
  const auto module =
      std::filesystem::path(LOCKSTEP_TRAINING_PROGRAM).replace_filename("lockstep-mpi.so");
  if (!std::filesystem::exists(module) || std::system("command -v mpirun > /dev/null") != 0) {
    GTEST_SKIP() << "no MPI module or no mpirun";
  }
  // mpirun ends the other ranks with the first, which may cut off what they print.
  const auto under_mpi = [](const std::string& how) {
    launch::ProcessSpec spec;
    spec.program = "mpirun";
    spec.arguments = {"-np", "3", LOCKSTEP_TRAINING_PROGRAM, "wrong=" + how, "backend=mpi"};
    spec.environment = {"LOCKSTEP_TIMEOUT=4",
                        "OMP_NUM_THREADS=1",
                        "OMPI_ALLOW_RUN_AS_ROOT=1",
                        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                        "OMPI_MCA_rmaps_base_oversubscribe=1",
                        "OMPI_MCA_mpi_yield_when_idle=1"};
    spec.separate_errors = true;
    return launch::run_captured(spec, Seconds(120), SystemClock());
  };
  for (const auto& [how, text] : {std::pair("hang", "rank 1 did not reach the all-reduce"),
                                  std::pair("throw", "the data of rank 1 is bad")}) {
    const auto captured = under_mpi(how);
    EXPECT_NE(captured.status.code, 0) << how;
    EXPECT_GE(count(captured.errors, text), 1U) << captured.errors;
  }
}

TEST_F(FailureTest, GivesAllRanksAnExceptionOfAnyType) {
  expect_error(fail("number"), 5, "an exception that is not a std::exception", 3);
}

TEST_F(FailureTest, NamesARankThatLeftBeforeTheOthers) {
  const auto captured = fail("exit");
  EXPECT_EQ(captured.status.code, 5) << captured.errors;
  EXPECT_EQ(count(captured.errors, "rank 1 called exit() before its job ended"), 2U)
      << captured.errors;
}

TEST_F(FailureTest, NamesARankThatEndedWithFewerSteps) {
  for (const char* backend : {"backend=shm", "backend=gloo"}) {
    expect_error(fail("leave", 3, backend), 5, "rank 1 ended its job while others still train", 2);
  }
}

TEST_F(FailureTest, NamesTheParameterThatDiffersBetweenRanks) {
  expect_error(
      fail("shapes"), 2,
      "differs between ranks: rank 1 has three.weight [4, 16] Float, rank 0 has three.weight "
      "[3, 16] Float",
      3);
}

TEST_F(FailureTest, NamesTheParameterThatOnlyOneRankHas) {
  expect_error(fail("count"), 2, "differs between ranks: rank 1 has another.weight [1, 1] Float",
               3);
}

TEST_F(FailureTest, DetectsABackwardThatOneRankLeftOut) {
  expect_error(fail("forward-only"), 2, "ranks are at different steps", 3);
}

TEST_F(FailureTest, AllowsAForwardThatAllRanksLeaveWithoutBackward) {
  EXPECT_TRUE(fail("forward-only", 2, "everywhere=1").status.clean());
}

TEST_F(FailureTest, RefusesASecondBackward) {
  for (const char* where : {"everywhere=0", "everywhere=1"}) {
    expect_error(fail("twice", 3, where), 2, "a second time", 3);
  }
  expect_error(fail("twice", 1, "everywhere=1"), 2, "a second time", 1);
}

TEST_F(FailureTest, RefusesReplacedParameters) {
  for (const char* where : {"everywhere=0", "everywhere=1"}) {
    expect_error(fail("replaced", 3, where), 2, "was replaced after it was wrapped", 3);
  }
  expect_error(fail("replaced", 1, "everywhere=1"), 2, "was replaced after it was wrapped", 1);
}

TEST_F(FailureTest, RefusesToBroadcastTensorsOfUnequalSizes) {
  expect_error(fail("broadcast"), 2, "broadcast_(): rank 1 gave 12 bytes, rank 0 8", 3);
}

TEST_F(FailureTest, RefusesToBroadcastFromARankThatDoesNotExist) {
  expect_error(fail("root"), 2, "broadcast(): there is no rank 3", 3);
}

TEST_F(FailureTest, StartsAllRanksAgain) {
  const auto captured = run(2, {"wrong=die"}, {"LOCKSTEP_TIMEOUT=30", "LOCKSTEP_RESTARTS=1"});
  EXPECT_EQ(captured.status.code, 5);
  EXPECT_EQ(count(captured.errors, "starting all 2 ranks again (1 of 1)"), 1U) << captured.errors;
}

#ifdef LOCKSTEP_DEVICE_DOUBLE
TEST_F(FailureTest, RefusesMoreRanksThanGpus) {
  const auto captured = run(
      3, {},
      {"LD_PRELOAD=" LOCKSTEP_DEVICE_DOUBLE, "CUDA_VISIBLE_DEVICES=0,1", "LOCKSTEP_TIMEOUT=20"});
  expect_error(captured, 3, "3 ranks on this host, but only 2 GPUs are visible", 3);
}
#endif

TEST_F(FailureTest, RefusesANumberOfRanksThatIsNone) {
  const auto captured = run(0, {});
  EXPECT_EQ(captured.status.code, 2);
  EXPECT_NE(captured.errors.find("LOCKSTEP_WORKERS='0' is not a number of ranks"),
            std::string::npos)
      << captured.errors;
}

}  // namespace
}  // namespace lockstep
