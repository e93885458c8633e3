#include "lockstep/study/command/failure_line.h"

#include <gtest/gtest.h>

#include <sstream>

namespace lockstep::study {
namespace {

std::string text_of(const std::string& output) {
  FailureLine failure;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) failure.add(line);
  return failure.text();
}

TEST(FailureLine, IsTheLastLineOfAProgramThatSaysNoMore) {
  EXPECT_EQ(text_of("loading\nno such device\n\n"), "its last line: no such device");
  EXPECT_EQ(text_of(""), "");
  EXPECT_EQ(text_of("====="), "its last line: =====");
}

TEST(FailureLine, IsTheExceptionOfTheRankUnderTorchrun) {
  EXPECT_EQ(text_of(R"([rank1]: Traceback (most recent call last):
[rank1]:   File "/home/me/bad.py", line 6, in <module>
[rank1]:     raise ValueError("lr must be positive")
[rank1]: ValueError: lr must be positive
[rank0]: Traceback (most recent call last):
[rank0]:   File "/home/me/bad.py", line 5, in <module>
[rank0]: RuntimeError: [gloo/transport/tcp/pair.cc:538] Connection closed by peer [127.0.0.1]:2907
E1119 04:58:48.501000 7074 site-packages/torch/distributed/elastic/multiprocessing/api.py:882] failed (exitcode: 1)
Traceback (most recent call last):
  File "/venv/bin/torchrun", line 6, in <module>
    sys.exit(main())
torch.distributed.elastic.multiprocessing.errors.ChildFailedError: 
============================================================
bad.py FAILED
------------------------------------------------------------
Root Cause (first observed failure):
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================)"),
            "its error: ValueError: lr must be positive");
}

TEST(FailureLine, IsWhatARankWroteThatEndedWithoutAnException) {
  EXPECT_EQ(text_of(R"(usage: train.py [-h] [--batch N]
train.py: error: unrecognized arguments: --bach
E1119 20:18:48.854000 10821 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 2) local_rank: 0
Traceback (most recent call last):
  File "/venv/bin/torchrun", line 8, in <module>
    sys.exit(main())
             ^^^^^^
torch.distributed.elastic.multiprocessing.errors.ChildFailedError: 
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  exitcode  : 2 (pid: 11013) 
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================)"),
            "its last line: train.py: error: unrecognized arguments: --bach");
}

TEST(FailureLine, IsTheSignalThatEndedARankAndNotWhatItsPeersSaw) {
  EXPECT_EQ(text_of(R"([rank1]: Traceback (most recent call last):
[rank1]: RuntimeError: [gloo/transport/tcp/pair.cc:545] Read error [127.0.0.1]:54446: Connection reset by peer.
Traceback (most recent call last):
  File "/venv/bin/torchrun", line 8, in <module>
torch.distributed.elastic.multiprocessing.errors.ChildFailedError: 
==========================================================
train.py FAILED
----------------------------------------------------------
Root Cause (first observed failure):
[0]:
  exitcode  : -9 (pid: 5135)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 5135
==========================================================)"),
            "its error: Signal 9 (SIGKILL) received by PID 5135");
}

TEST(FailureLine, IsTheExceptionOfAProcessThatMpSpawnStarted) {
  EXPECT_EQ(text_of(R"(Traceback (most recent call last):
  File "train.py", line 20, in <module>
torch.multiprocessing.spawn.ProcessRaisedException: 

-- Process 1 terminated with the following error:
Traceback (most recent call last):
  File "train.py", line 8, in main
KeyError: 'lr')"),
            "its error: KeyError: 'lr'");
}

TEST(FailureLine, IsWhatTheTaskWroteUnderSrun) {
  EXPECT_EQ(text_of(R"(slurmstepd: error: execve(): train: No such file or directory
python: can't open file '/home/u/trian.py': [Errno 2] No such file or directory
srun: error: node1: task 0: Exited with exit code 2
srun: Terminating StepId=5.0)"),
            "its last line: python: can't open file '/home/u/trian.py': [Errno 2] No such file or "
            "directory");
  EXPECT_EQ(text_of("slurmstepd: error: execve(): train: No such file or directory\n"
                    "slurmstepd: error: *** STEP 5.0 ON node1 CANCELLED ***\n"
                    "srun: error: node1: task 0: Exited with exit code 2"),
            "its last line: slurmstepd: error: execve(): train: No such file or directory");
}

TEST(FailureLine, IsTheErrorOfARankOfAProgramThatUsesTheLibrary) {
  EXPECT_EQ(text_of("[rank 1/2] error: the data is bad\n"
                    "[rank 0/2] error: rank 1: the data is bad\n"
                    "hint: see its output\n"
                    "error: rank 0 ended with exit code 5\n"),
            "its error: rank 1: the data is bad");
  EXPECT_EQ(text_of("[rank 0/2] error: rank 1 on node1 died\n"
                    "hint: see its output for the cause\n"
                    "error: rank 1 was killed by signal 9 (Killed)\n"),
            "its error: rank 1 was killed by signal 9 (Killed)");
  EXPECT_EQ(text_of("error: rank 0 ended with exit code 3\n"),
            "its error: rank 0 ended with exit code 3");
}

TEST(FailureLine, KeepsTheOnlyReasonThereIs) {
  EXPECT_EQ(text_of("Traceback (most recent call last):\n  File \"a.py\", line 1\n"
                    "ConnectionRefusedError: [Errno 111] Connection refused"),
            "its error: ConnectionRefusedError: [Errno 111] Connection refused");
}

}  // namespace
}  // namespace lockstep::study
