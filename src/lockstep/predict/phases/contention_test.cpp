#include "lockstep/predict/phases/contention.h"

#include <gtest/gtest.h>

namespace lockstep::predict {
namespace {

TEST(Contention, OneWorkerHasTheHostToItself) {
  EXPECT_EQ(contention({.workers = 1, .threads_alone = 2}).value, 1);
}

TEST(Contention, WeighsArithmeticAndMemoryAndHoldsBoth) {
  // Two threads do 1.8 times the arithmetic of one and 1.25 times its traffic.
  const SharedHost host{
      .cores = 4, .alone = {100e9, 20e9}, .together = {180e9, 25e9}, .memory_bound = 0.25};
  const Estimate factor = contention(host);
  EXPECT_NEAR(factor.low, 2 / 1.8, 1e-12);
  EXPECT_NEAR(factor.high, 2 / 1.25, 1e-12);
  EXPECT_NEAR(factor.value, 0.75 * 2 / 1.8 + 0.25 * 2 / 1.25, 1e-12);
}

TEST(Contention, WorkersOfFewerThreadsThanTheOneAloneAreAnywhereBetween) {
  const SharedHost host{.cores = 8,
                        .workers = 4,
                        .threads_alone = 8,
                        .threads_each = 2,
                        .alone = {180e9, 25e9},
                        .together = {180e9, 25e9}};
  const Estimate factor = contention(host);
  EXPECT_EQ(factor.low, 0.25);
  EXPECT_EQ(factor.high, 4);
}

TEST(Contention, IsNoneWhereNothingWasCalibratedAndCoresAreEnough) {
  EXPECT_EQ(contention({.cores = 8, .workers = 4}).value, 1);
}

TEST(Contention, IsNeverBelowWhatProcessorTimeAllows) {
  // A compute thread and a loader that uses 30 % of a core: two of them need 2.6 cores of 2.
  const SharedHost host{.cores = 2, .workers = 2, .cores_used = 1.3};
  EXPECT_NEAR(contention(host).value, 1.3, 1e-12);
  EXPECT_NEAR(contention(host).low, 1.3, 1e-12);
}

TEST(Contention, WorkersBeyondTheCoresTakeTurnsWhereTheirUseIsUnknown) {
  SharedHost host;
  host.workers = 8;
  host.cores = 2;
  host.threads_alone = host.threads_each = 1;
  EXPECT_DOUBLE_EQ(contention(host).value, 4);
  host.cores = 16;
  EXPECT_DOUBLE_EQ(contention(host).value, 1);
}

}  // namespace
}  // namespace lockstep::predict
