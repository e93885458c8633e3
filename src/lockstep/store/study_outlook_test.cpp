#include "lockstep/store/study_outlook.h"

#include "lockstep/store/store_fixture.h"

namespace lockstep::store {
namespace {

TEST_F(StoreTest, KeepsWhatAStudyLastExpected) {
  EXPECT_TRUE(study_outlooks(path()).empty());
  keep_study_outlook(path(), {"sweep", 12, false, {}, {}});
  keep_study_outlook(path(), {"ladder", 7, true, 3.5, 20.25});
  keep_study_outlook(path(), {"sweep", 12, false, 4.0, 0.0});
  const std::vector<StudyOutlook> found = study_outlooks(path());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].study, "ladder");
  EXPECT_TRUE(found[0].at_most);
  EXPECT_EQ(found[0].planned, 7);
  EXPECT_EQ(found[0].later_s, 20.25);
  EXPECT_EQ(found[1].run_s, 4.0);
  EXPECT_EQ(found[1].later_s, 0.0);
}

TEST_F(StoreTest, AnUnknownDurationStaysUnknown) {
  keep_study_outlook(path(), {"sweep", 12, false, {}, {}});
  EXPECT_EQ(study_outlooks(path()).front().run_s, std::nullopt);
  EXPECT_EQ(study_outlooks(path()).front().later_s, std::nullopt);
}

}  // namespace
}  // namespace lockstep::store
