#include "lockstep/launch/restart_policy.h"

#include <gtest/gtest.h>

namespace lockstep::launch {
namespace {

record::TrainRequest four_workers() {
  record::TrainRequest request;
  request.spec.workers = 4;
  request.spec.batch_per_worker = 96;
  return request;
}

GroupOutcome failed_with(ErrorKind kind) {
  GroupOutcome outcome;
  outcome.failure = Failure{1, false, Error(kind, "x")};
  return outcome;
}

TEST(RestartPolicy, KeepsTheGlobalBatchWhereWorkersDivideIt) {
  std::string told;
  const auto next = with_workers(four_workers(), 3, 0.1, told);
  EXPECT_EQ(next.spec.workers, 3);
  EXPECT_EQ(next.spec.global_batch(), 384);
  EXPECT_EQ(next.spec.learning_rate, four_workers().spec.learning_rate);
  EXPECT_TRUE(next.resume);
  EXPECT_FALSE(told.empty());
}

TEST(RestartPolicy, ScalesTheLearningRateWhereTheyDoNot) {
  auto request = four_workers();
  request.spec.batch_per_worker = 100;
  std::string told;
  const auto next = with_workers(request, 3, 0.1, told);
  EXPECT_EQ(next.spec.batch_per_worker, 100);
  EXPECT_DOUBLE_EQ(next.spec.learning_rate, 0.1 * 3 / 4);
}

TEST(RestartPolicy, ChangesNothingWithAsManyWorkers) {
  std::string told;
  const auto next = with_workers(four_workers(), 4, 0.1, told);
  EXPECT_EQ(next.spec.batch_per_worker, 96);
  EXPECT_TRUE(told.empty());
}

TEST(RestartPolicy, DoesNotTryAgainWhatCannotSucceed) {
  EXPECT_TRUE(can_restart(failed_with(ErrorKind::kWorker), 0));
  EXPECT_TRUE(can_restart(failed_with(ErrorKind::kPeer), 0));
  EXPECT_FALSE(can_restart(failed_with(ErrorKind::kUsage), 1));
  EXPECT_FALSE(can_restart(failed_with(ErrorKind::kData), 1));
  EXPECT_FALSE(can_restart({}, 0));
  auto stopped = failed_with(ErrorKind::kWorker);
  stopped.stop_requested = true;
  EXPECT_FALSE(can_restart(stopped, 0));
}

TEST(RestartPolicy, TakesAHostThatRefusesLaterForALostOne) {
  GroupOutcome outcome = failed_with(ErrorKind::kEnvironment);
  EXPECT_FALSE(can_restart(outcome, 1)) << "the machine lacks something";
  outcome.workers.resize(3);
  outcome.workers[1].host = "node2";
  outcome.workers[1].refusal = Error(ErrorKind::kEnvironment, "no route to node2");
  EXPECT_FALSE(can_restart(outcome, 0)) << "it never could be reached";
  EXPECT_TRUE(can_restart(outcome, 1));
  EXPECT_EQ(lost_ranks(outcome), std::vector<int>{1});
  EXPECT_EQ(hosts_of_lost_ranks(outcome), std::vector<std::string>{"node2"});
}

TEST(RestartPolicy, CountsOnlyWorkersThatDiedOfThemselves) {
  GroupOutcome outcome = failed_with(ErrorKind::kWorker);
  outcome.workers.resize(4);
  outcome.workers[0].status = ExitStatus{0, 15};
  outcome.workers[0].told_to_end = true;
  outcome.workers[1].status = ExitStatus{0, 9};
  outcome.workers[2].status = ExitStatus{0, 9};
  outcome.workers[3].status = ExitStatus{5, 0};
  outcome.workers[3].error = record::WorkerError{3, "peer", "", ""};
  EXPECT_EQ(lost_ranks(outcome), (std::vector<int>{1, 2}));
}

TEST(RestartPolicy, CountsTheFailedRankWhereAllWereAskedToEnd) {
  GroupOutcome outcome = failed_with(ErrorKind::kWorker);
  outcome.workers.resize(4);
  EXPECT_EQ(lost_ranks(outcome), std::vector<int>{1});
}

}  // namespace
}  // namespace lockstep::launch
