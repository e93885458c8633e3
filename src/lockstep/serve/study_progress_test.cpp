#include "lockstep/serve/study_progress.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

namespace lockstep::serve {
namespace {

using nlohmann::json;
using store::RunState;
using store::RunSummary;
using store::StudyOutlook;

RunSummary run(RunState state) {
  RunSummary one;
  one.label.study = "sweep";
  one.state = state;
  one.spec.workers = 2;
  one.spec.batch_per_worker = 100;
  one.spec.epochs = 2;
  // A quarter of 100 steps of 200 examples: 75 steps are left, 7.5 s at this speed.
  if (state == RunState::kRunning) one.progress = record::Progress{1, 25, 50, 2000, 0.5};
  return one;
}

json of(const std::vector<RunSummary>& runs, const StudyOutlook& outlook) {
  return studies_json(runs, std::array{outlook}).front();
}

TEST(StudyProgress, AddsWhatTheRunStillTakesToWhatTheStudyExpectsAfterIt) {
  const json study =
      of({run(RunState::kDone), run(RunState::kRunning)}, {"sweep", 12, false, 10.0, 100.0});
  EXPECT_EQ(study["planned"], 12);
  EXPECT_EQ(study["done"], 1);
  EXPECT_EQ(study["remaining_s"], 107.5);
}

TEST(StudyProgress, TakesTheStudysEstimateOfARunThatHasNotReportedYet) {
  RunSummary starting = run(RunState::kRunning);
  starting.progress.reset();
  EXPECT_EQ(of({starting}, {"sweep", 12, false, 10.0, 100.0})["remaining_s"], 110.0);
}

TEST(StudyProgress, TakesLaterRunsToLastAsLongAsTheFirstUntilMoreIsKnown) {
  // 7.5 s left of 10 s, and two more runs of 10 s.
  EXPECT_EQ(of({run(RunState::kRunning)}, {"sweep", 3, false, {}, {}})["remaining_s"], 27.5);
}

TEST(StudyProgress, ReportsNoTimeLeftWhenItIsUnknown) {
  RunSummary starting = run(RunState::kRunning);
  starting.progress.reset();
  EXPECT_FALSE(of({starting}, {"sweep", 3, true, {}, {}}).contains("remaining_s"));
  EXPECT_FALSE(of({run(RunState::kDone)}, {"sweep", 3, true, 1.0, 1.0}).contains("remaining_s"));
  EXPECT_FALSE(of({run(RunState::kRunning)}, {"other", 3, true, 1.0, 1.0}).contains("planned"));
}

}  // namespace
}  // namespace lockstep::serve
