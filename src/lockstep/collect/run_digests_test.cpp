#include "lockstep/collect/run_digests.h"

#include <filesystem>

#include "lockstep/collect/digest_text.h"
#include "lockstep/store/store_fixture.h"

namespace lockstep::collect {
namespace {

class RunDigestsTest : public store::StoreTest {
 protected:
  void write_run(std::int64_t count) const {
    store::RunWriter writer(path(), {"study", "cell", 0});
    writer.write(store::started(2, 32));
    writer.write(store::steps(0, count));
    writer.write(record::RunEnded{record::RunStatus::kDone, 1, 10, 0, ""});
  }

  /// The digest of the only run, as a program that opens the store for the first time has it.
  std::string fresh_digest() const {
    store::Store opened(path());
    RunDigests digests;
    return digest_text(digests.of(path(), opened.runs()).front());
  }

  std::optional<std::string> kept() const {
    return store::Store(path()).step_digest(1, kDigestForm);
  }
};

TEST_F(RunDigestsTest, TheDigestOfALongRunIsTheSameFromItsStepsAndFromWhatWasKeptOfThem) {
  write_run(10'000);
  EXPECT_FALSE(kept().has_value());
  const std::string from_steps = fresh_digest();
  ASSERT_TRUE(kept().has_value());
  EXPECT_EQ(fresh_digest(), from_steps);
}

TEST_F(RunDigestsTest, NothingIsKeptOfAShortRun) {
  write_run(100);
  keep_digest(path(), 1);
  fresh_digest();
  EXPECT_FALSE(kept().has_value());
}

TEST_F(RunDigestsTest, ADigestInMemoryIsNotTakenForARunOfTheSameNumberInAnotherStore) {
  write_run(100);
  RunDigests digests;
  const auto steps_of_first = [&] {
    store::Store opened(path());
    return digests.of(path(), opened.runs()).front().steps.steps;
  };
  EXPECT_EQ(steps_of_first(), 100);
  EXPECT_EQ(steps_of_first(), 100);
  std::filesystem::rename(path(), path() + ".old");
  store::RunWriter writer(path(), {"study", "cell", 0});
  record::RunStarted start;
  start.started_wall_ns = 6;
  writer.write(start);
  writer.write(record::RunEnded{record::RunStatus::kDone, 1, 10, 0, ""});
  EXPECT_EQ(steps_of_first(), 0);
}

}  // namespace
}  // namespace lockstep::collect
